"""Any view of objects in protobuf: what its JSON says, encoded anew.

The codec is ``api.wire.protobuf``, handed in. Frames of a stream carry their length in front, four
bytes, big end first; WebSocket messages leave it out (spec/server §5.2, §5.5).

Cost: decoding and encoding per object; frames are still made once for all watchers of a view.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

from proreus.api.group_version import GroupVersion, GroupVersionKind
from proreus.api.wire import json
from proreus.server.views.response import ResponseView
from proreus.server.watch_cache.object import CachedObject
from proreus.server.watch_cache.query import Listing

LENGTH_BYTES = 4


class Codec(Protocol):
    def encode(self, obj: dict[str, Any], gvk: GroupVersionKind) -> bytes:
        """With the envelope."""
        ...

    def encode_watch_event(
        self, event_type: str, obj: dict[str, Any], gvk: GroupVersionKind
    ) -> bytes:
        """Without a length in front."""
        ...


class ProtobufView:
    """``view`` is one of JSON; tables have no protobuf form."""

    __slots__ = ("_codec", "_view")

    def __init__(self, view: ResponseView, codec: Codec) -> None:
        self._view = view
        self._codec = codec

    def event(self, event_type: str, obj: CachedObject) -> bytes:
        return self._frame(self._view.event(event_type, obj))

    def first_event(self, event_type: str, obj: CachedObject) -> bytes:
        return self._frame(self._view.first_event(event_type, obj))

    def bookmark(self, revision: int, *, initial_events_end: bool) -> bytes:
        return self._frame(self._view.bookmark(revision, initial_events_end=initial_events_end))

    first_bookmark = bookmark

    def error(self, status: Mapping[str, Any]) -> bytes:
        return self._frame(self._view.error(status))

    def object(self, obj: CachedObject) -> bytes:
        return self.encoded(self._view.object(obj))

    def listing(self, listing: Listing, *, continue_token: str = "") -> bytes:
        return self.encoded(self._view.listing(listing, continue_token=continue_token))

    def document(self, obj: Mapping[str, Any]) -> bytes:
        return self.encoded(self._view.document(obj))

    def encoded(self, body: bytes) -> bytes:
        """A JSON answer in protobuf."""
        obj = json.decode(body)
        return self._codec.encode(obj, _gvk(obj))

    def _frame(self, line: bytes) -> bytes:
        event = json.decode(line)
        obj = event["object"]
        message = self._codec.encode_watch_event(event["type"], obj, _gvk(obj))
        return len(message).to_bytes(LENGTH_BYTES, "big") + message

    def __eq__(self, other: Any) -> bool:
        return type(other) is ProtobufView and other._view == self._view

    def __hash__(self) -> int:
        return hash((ProtobufView, self._view))

    def __repr__(self) -> str:
        return f"<ProtobufView of {self._view!r}>"


def _gvk(obj: Mapping[str, Any]) -> GroupVersionKind:
    return GroupVersion.parse(obj.get("apiVersion", "")).kind(obj.get("kind", ""))
