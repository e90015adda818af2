"""What can be done with the objects of a resource, written once for all kinds."""
