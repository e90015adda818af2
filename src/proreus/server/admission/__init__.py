"""What may enter the store although it is valid: an ordered list of plugins."""
