"""Who is asking: an ordered list of ways to tell; the first that knows decides."""
