"""Objects in protobuf.

Frames of a stream carry their length in front; WebSocket messages leave these four bytes out
(server.md §5.2, §5.5).
"""

from __future__ import annotations

from proreus.api.wire import json, protobuf
from proreus.server.views.encodings import type_of
from proreus.server.views.remembered_view import RememberedView


class ProtobufView(RememberedView):
    """What is remembered is an object's message. Tables have no protobuf form."""

    __slots__ = ()

    @staticmethod
    def frame(line: bytes) -> bytes:
        event = json.decode(line)
        obj = event["object"]
        return protobuf.encode_watch_event(event["type"], obj, type_of(obj))

    def encode(self, source: bytes) -> bytes:
        return protobuf.encode_message(json.decode(source), self.gvk)

    def enclosed(self, event_type: str, encoding: bytes) -> bytes:
        return protobuf.watch_frame(event_type, self.document(encoding))

    def document(self, encoding: bytes) -> bytes:
        return protobuf.in_envelope(encoding, self.gvk)
