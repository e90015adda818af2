"""Any view of events in protobuf: what its JSON says, encoded anew.

Frames of a stream carry their length in front; WebSocket messages leave these four bytes out
(server.md §5.2, §5.5).

Cost: decoding and encoding per object; frames are still made once for all watchers of a view.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from proreus.api.wire import json, protobuf
from proreus.server.views.encodings import type_of
from proreus.server.watch_cache.object import CachedObject
from proreus.server.watch_cache.view import EncodingView


class ProtobufView:
    """``view`` is one of JSON; tables have no protobuf form."""

    __slots__ = ("_view",)

    def __init__(self, view: EncodingView) -> None:
        self._view = view

    def event(self, event_type: str, obj: CachedObject) -> bytes:
        return _frame(self._view.event(event_type, obj))

    def first_event(self, event_type: str, obj: CachedObject) -> bytes:
        return _frame(self._view.first_event(event_type, obj))

    def bookmark(self, revision: int, *, initial_events_end: bool) -> bytes:
        return _frame(self._view.bookmark(revision, initial_events_end=initial_events_end))

    first_bookmark = bookmark

    def error(self, status: Mapping[str, Any]) -> bytes:
        return _frame(self._view.error(status))

    def __eq__(self, other: Any) -> bool:
        return type(other) is ProtobufView and other._view == self._view

    def __hash__(self) -> int:
        return hash((ProtobufView, self._view))

    def __repr__(self) -> str:
        return f"<ProtobufView of {self._view!r}>"


def _frame(line: bytes) -> bytes:
    event = json.decode(line)
    obj = event["object"]
    return protobuf.encode_watch_event(event["type"], obj, type_of(obj))
