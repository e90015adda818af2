"""What a view offers besides the frames of a stream: whole answers."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from typing import Any, Protocol

from proreus.api.wire import json
from proreus.lazy_dataclass import dataclass
from proreus.server.watch_cache.object import EncodedObject
from proreus.server.watch_cache.query import ListResult
from proreus.server.watch_cache.view import EncodingView

# Of a list: encrypted and sent in 0.15 to 0.25 ms, since others wait meanwhile, but not too many.
PIECE_BYTES = 96 * 1024


@dataclass(frozen=True, slots=True)
class ListParts:
    """A list before it is encoded. ``head`` is its JSON up to the value of ``field``, its last.

    ``items`` make the JSON of the objects one by one, as they are taken.
    """

    head: bytes
    field: str  # "items", or "rows" of a table
    items: Iterator[bytes]
    empty: bytes = b"[]"  # the value of the field if there are none


class ResponseView(EncodingView, Protocol):
    """Bodies end with a line feed."""

    def object(self, obj: EncodedObject) -> bytes: ...

    def parts(self, listing: ListResult, *, continue_token: str = "") -> ListParts: ...

    def document(self, obj: Mapping[str, Any]) -> bytes:
        """A decoded object with kind and apiVersion: subresources, reviews, dry runs."""
        ...


def list_metadata(listing: ListResult, continue_token: str, *, is_custom: bool = False) -> bytes:
    """The ``metadata`` of a list or table; the count comes only with a token (server.md §2.5).

    Lists of custom resources have the token even if it is empty. A list that is of no stored
    state has no version.
    """
    metadata: dict[str, Any] = {}
    if listing.revision:
        metadata["resourceVersion"] = str(listing.revision)
    if is_custom:
        metadata["continue"] = ""
    if continue_token:
        metadata["continue"] = continue_token
        if listing.remaining is not None:
            metadata["remainingItemCount"] = listing.remaining
    return json.encode(metadata)


def bookmark_metadata(revision: int, *, initial_events_end: bool) -> bytes:
    if initial_events_end:
        return _END_BOOKMARK % revision
    return b'{"resourceVersion":"%d"}' % revision


def frame(event_type: bytes, obj: bytes) -> bytes:
    return b'{"type":"%b","object":%b}\n' % (event_type, obj)


def error_frame(status: Mapping[str, Any]) -> bytes:
    return frame(b"ERROR", json.encode(status))


class ObjectFrames(ABC):
    """Bookmarks and errors of a stream of objects: alike wherever an object is sent as one."""

    __slots__ = ()

    @abstractmethod
    def empty_object(self, metadata: bytes) -> bytes:
        """An object with nothing but metadata."""

    def bookmark(self, revision: int, *, initial_events_end: bool) -> bytes:
        metadata = bookmark_metadata(revision, initial_events_end=initial_events_end)
        return frame(b"BOOKMARK", self.empty_object(metadata))

    first_bookmark = bookmark

    def error(self, status: Mapping[str, Any]) -> bytes:
        return error_frame(status)


_END_BOOKMARK = b'{"resourceVersion":"%d","annotations":{"k8s.io/initial-events-end":"true"}}'
