"""Authentication: an ordered list of checks; the first that knows a credential decides."""
