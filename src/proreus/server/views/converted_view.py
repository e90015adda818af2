"""Objects of a resource that is served in another version than it is stored in.

Wraps a view of whole objects and gives it converted ones. The conversion itself is
``resource.conversion``, handed in. Metadata views need no wrapping: metadata is the same in all
versions. Neither do tables, whose cells come from the stored form: only their ``whole`` is wrapped.

Cost: decode, convert and encode per object, so only the few such resources pay it.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

import msgspec

from proreus.api.group_version import GroupVersionKind
from proreus.api.wire import splice
from proreus.server.resource import Resource
from proreus.server.resource.conversion import Convert
from proreus.server.views.json_view import JsonView
from proreus.server.views.response import ListParts
from proreus.server.watch_cache.object import EncodedObject
from proreus.server.watch_cache.query import ListResult


class ConvertedView:
    """``convert`` gets an object with kind and apiVersion of the stored type."""

    __slots__ = ("_convert", "_from", "_to", "_until", "_view")

    def __init__(self, resource: Resource, view: JsonView, convert: Convert) -> None:
        self._from = resource.stored_gvk
        self._to = resource.gvk
        # Later objects were written in the served version; of another version none are.
        is_stored = resource.stored_gvk == resource.gvk
        self._until = resource.refresh_before if is_stored else sys.maxsize
        self._view = view
        self._convert = convert

    @property
    def gvk(self) -> GroupVersionKind:
        return self._to

    @property
    def items_have_kind(self) -> bool:
        return self._view.items_have_kind

    def event(self, event_type: str, obj: EncodedObject) -> bytes:
        if obj.revision <= self._until:
            obj = self.converted(obj)
        return self._view.event(event_type, obj)

    def first_event(self, event_type: str, obj: EncodedObject) -> bytes:
        return self._view.first_event(event_type, self.converted(obj))

    def bookmark(self, revision: int, *, initial_events_end: bool) -> bytes:
        return self._view.bookmark(revision, initial_events_end=initial_events_end)

    first_bookmark = bookmark

    def error(self, status: Mapping[str, Any]) -> bytes:
        return self._view.error(status)

    def object(self, obj: EncodedObject) -> bytes:
        return self._view.object(self.converted(obj))

    def embedded(self, obj: EncodedObject) -> bytes:
        return self._view.embedded(self.converted(obj))

    def parts(self, listing: ListResult, *, continue_token: str = "") -> ListParts:
        whole = self._view.parts(listing, continue_token=continue_token)
        if self.is_served_as_stored(listing):
            return whole
        item = self._view.item
        return replace(whole, items=(item(self.converted(obj)) for obj in listing.objects))

    def is_served_as_stored(self, listing: ListResult) -> bool:
        """Nearly always all objects were written in the served version."""
        return listing.written_after >= self._until

    def listing_pieces(
        self, listing: ListResult, stored_bytes: int, *, continue_token: str = ""
    ) -> tuple[int, Iterator[bytes]]:
        """Of a list that is served as it is stored."""
        return self._view.listing_pieces(listing, stored_bytes, continue_token=continue_token)

    def document(self, obj: Mapping[str, Any]) -> bytes:
        """Documents come in the served version already."""
        return self._view.document(obj)

    def empty_object(self, metadata: bytes) -> bytes:
        return self._view.empty_object(metadata)

    def converted(self, obj: EncodedObject) -> EncodedObject:
        if obj.revision > self._until:
            return obj
        stored = splice.decode_item(obj.item)
        stored |= {"kind": self._from.kind, "apiVersion": self._from.api_version}
        served = self._convert(stored, self._to)
        return msgspec.structs.replace(obj, item=splice.item_from_object(served))

    def __eq__(self, other: Any) -> bool:
        return type(other) is ConvertedView and other._view == self._view

    def __hash__(self) -> int:
        return hash((ConvertedView, self._view))

    def __repr__(self) -> str:
        return f"<ConvertedView {self._from} as {self._to}>"
