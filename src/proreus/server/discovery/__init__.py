"""What the server says about itself: which kinds it serves, how they look, which version it is.

Everything here is computed from the catalog and cached until the catalog changes. Nothing knows
HTTP: a ``Document`` is a body with the tag that names its content. Import the modules: the ones for
OpenAPI are not needed to start.
"""
