"""Authorization: an ordered list of authorizers; the first with an opinion decides."""
