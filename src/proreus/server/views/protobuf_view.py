"""Events in protobuf.

Frames of a stream carry their length in front; WebSocket messages leave these four bytes out
(server.md §5.2, §5.5).
"""

from __future__ import annotations

from proreus.api.wire import json, protobuf
from proreus.server.views.encodings import type_of
from proreus.server.views.transcoded_view import TranscodedView


class ProtobufView(TranscodedView):
    """Tables have no protobuf form."""

    __slots__ = ()

    @staticmethod
    def frame(line: bytes) -> bytes:
        event = json.decode(line)
        obj = event["object"]
        return protobuf.encode_watch_event(event["type"], obj, type_of(obj))
