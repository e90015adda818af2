"""What every view offers besides the frames of a stream: whole answers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

from proreus.api.wire import json
from proreus.server.watch_cache.object import CachedObject
from proreus.server.watch_cache.query import Listing
from proreus.server.watch_cache.view import View


class ResponseView(View, Protocol):
    """Bodies end with a line feed."""

    def object(self, obj: CachedObject) -> bytes: ...

    def listing(self, listing: Listing, *, continue_token: str = "") -> bytes: ...

    def document(self, obj: Mapping[str, Any]) -> bytes:
        """A decoded object with kind and apiVersion: subresources, reviews, dry runs."""
        ...


def list_metadata(listing: Listing, continue_token: str, *, is_custom: bool = False) -> bytes:
    """The ``metadata`` of a list or table; the count is only told with a token (spec §2.5).

    Lists of custom resources tell the token even if there is none.
    """
    metadata: dict[str, Any] = {"resourceVersion": str(listing.revision)}
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


_END_BOOKMARK = b'{"resourceVersion":"%d","annotations":{"k8s.io/initial-events-end":"true"}}'
