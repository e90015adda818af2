"""Events in CBOR: a sequence of documents."""

from __future__ import annotations

from proreus.api.wire import json
from proreus.server.views.transcoded_view import TranscodedView


class CborView(TranscodedView):
    """The object within an event is a document of its own, as Kubernetes writes it."""

    __slots__ = ()

    @staticmethod
    def frame(line: bytes) -> bytes:
        from proreus.api.wire import cbor  # few ask for it

        event = json.decode(line)
        start = cbor.SELF_DESCRIBED + cbor.map_start(2)
        about = (cbor.encode_item(text) for text in ("type", event["type"], "object"))
        return start + b"".join(about) + cbor.encode(event["object"])
