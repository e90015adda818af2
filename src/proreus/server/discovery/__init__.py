"""Discovery: which kinds the server serves, their schemas, and its version.

Everything here is computed from the catalog and cached until the catalog changes. Nothing knows
HTTP: a ``Document`` is a body with the tag that names its content. Import the modules: the ones for
OpenAPI are not needed to start.
"""
