"""Any view of events in CBOR: what its JSON says, encoded anew, as a sequence of documents.

Cost: decoding and encoding per object; frames are still made once for all watchers of a view.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from proreus.api.wire import json
from proreus.server.watch_cache.object import CachedObject
from proreus.server.watch_cache.view import EncodingView


class CborView:
    """``view`` is one of JSON."""

    __slots__ = ("_view",)

    def __init__(self, view: EncodingView) -> None:
        self._view = view

    def event(self, event_type: str, obj: CachedObject) -> bytes:
        return _frame(self._view.event(event_type, obj))

    def first_event(self, event_type: str, obj: CachedObject) -> bytes:
        return _frame(self._view.first_event(event_type, obj))

    def bookmark(self, revision: int, *, initial_events_end: bool) -> bytes:
        return _frame(self._view.bookmark(revision, initial_events_end=initial_events_end))

    def first_bookmark(self, revision: int, *, initial_events_end: bool) -> bytes:
        return _frame(self._view.first_bookmark(revision, initial_events_end=initial_events_end))

    def error(self, status: Mapping[str, Any]) -> bytes:
        return _frame(self._view.error(status))

    def __eq__(self, other: Any) -> bool:
        return type(other) is CborView and other._view == self._view

    def __hash__(self) -> int:
        return hash((CborView, self._view))

    def __repr__(self) -> str:
        return f"<CborView of {self._view!r}>"


def _frame(line: bytes) -> bytes:
    """The object within an event is a document of its own, as Kubernetes writes it."""
    from proreus.api.wire import cbor  # few ask for it

    event = json.decode(line)
    start = cbor.SELF_DESCRIBED + cbor.map_start(2)
    about = cbor.encode_item("type") + cbor.encode_item(event["type"]) + cbor.encode_item("object")
    return start + about + cbor.encode(event["object"])
