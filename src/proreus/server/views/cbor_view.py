"""Objects and tables in CBOR; a watch is a sequence of documents."""

from __future__ import annotations

from proreus.api.wire import json
from proreus.server.views.remembered_encodings import RememberedEncodings
from proreus.server.views.remembered_view import ObjectView, RememberedView
from proreus.server.views.transcoded_view import TranscodedView


def _frame(event_type: str, document: bytes) -> bytes:
    """The object within an event is a document of its own, as Kubernetes writes it."""
    from proreus.api.wire import cbor  # few ask for it

    about = b"".join(map(cbor.encode_item, ("type", event_type, "object")))
    return b"".join((cbor.SELF_DESCRIBED, cbor.map_start(2), about, document))


def _frame_of(line: bytes) -> bytes:
    from proreus.api.wire import cbor

    event = json.decode(line)
    return _frame(event["type"], cbor.encode(event["object"]))


class CborTableView(TranscodedView):
    """Events of tables, whose cells change with time."""

    __slots__ = ()
    frame = staticmethod(_frame_of)


class CborView(RememberedView):
    """What is remembered is an object without its kind, which is put in front of its fields: so a
    list, where objects of built-in kinds do not have it, is a join."""

    __slots__ = ("_items_have_kind", "_kind")
    frame = staticmethod(_frame_of)

    def __init__(self, view: ObjectView, encodings: RememberedEncodings) -> None:
        from proreus.api.wire import cbor

        super().__init__(view, encodings)
        kind = ("kind", self.gvk.kind, "apiVersion", self.gvk.api_version)
        self._kind = b"".join(map(cbor.encode_item, kind))
        self._items_have_kind = view.items_have_kind

    def encode(self, source: bytes) -> bytes:
        from proreus.api.wire import cbor

        obj = json.decode(source)
        del obj["kind"], obj["apiVersion"]
        return cbor.encode_item(obj)

    def enclosed(self, event_type: str, encoding: bytes) -> bytes:
        return _frame(event_type, self.document(encoding))

    def document(self, encoding: bytes) -> bytes:
        from proreus.api.wire import cbor

        return cbor.SELF_DESCRIBED + cbor.with_first(self._kind, 2, encoding)

    def item(self, encoding: bytes) -> bytes:
        """An encoding in a list."""
        from proreus.api.wire import cbor

        return cbor.with_first(self._kind, 2, encoding) if self._items_have_kind else encoding
