"""What a server serves: groups, versions, resources, and how their names map to kinds."""
