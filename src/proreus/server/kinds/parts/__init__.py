"""What several kinds share; nothing in here is a kind."""
