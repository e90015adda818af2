"""What the server says about itself: which kinds it serves, how they look, which version it is.

Everything here is computed from the catalog and cached until the catalog changes. Nothing knows
HTTP: a ``Document`` is a body with the tag that names its content.
"""

from proreus.server.discovery.aggregated import Aggregated
from proreus.server.discovery.document import Document
from proreus.server.discovery.legacy import Legacy
from proreus.server.discovery.openapi_v2 import OpenApiV2
from proreus.server.discovery.openapi_v3 import OpenApiV3
from proreus.server.discovery.version import version_document

__all__ = ["Aggregated", "Document", "Legacy", "OpenApiV2", "OpenApiV3", "version_document"]
