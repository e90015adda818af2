"""Values ⇄ bytes, without I/O: the same code at both ends of a connection."""
