"""Views of objects on the wire: whole, metadata only, as a table, in another encoding.

A view implements ``watch_cache.view.View`` for streams and has ``object``, ``listing`` and
``document`` for answers. All of them yield JSON; ``encodings`` turns an answer into YAML or
indented JSON, and a ``RememberedView`` of one is in protobuf or CBOR. Nothing here knows HTTP:
``http/negotiation`` picks the view.
"""

from proreus.server.views.cbor_view import CborTableView, CborView
from proreus.server.views.converted_view import ConvertedView
from proreus.server.views.encodings import indented, to_cbor, to_protobuf, to_yaml
from proreus.server.views.json_view import JsonView
from proreus.server.views.metadata_view import MetadataView
from proreus.server.views.protobuf_view import ProtobufView
from proreus.server.views.remembered_encodings import RememberedEncodings
from proreus.server.views.remembered_view import ObjectView, RememberedView
from proreus.server.views.response import ResponseView
from proreus.server.views.table_view import IncludeObject, TableView

__all__ = [
    "CborTableView",
    "CborView",
    "ConvertedView",
    "IncludeObject",
    "JsonView",
    "MetadataView",
    "ObjectView",
    "ProtobufView",
    "RememberedEncodings",
    "RememberedView",
    "ResponseView",
    "TableView",
    "indented",
    "to_cbor",
    "to_protobuf",
    "to_yaml",
]
