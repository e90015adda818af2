"""What the asker may do: an ordered list of authorizers; the first that decides is heard."""
