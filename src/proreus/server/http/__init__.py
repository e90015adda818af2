"""The HTTP face of the server: one request, through a visible list of stages, to one answer."""
