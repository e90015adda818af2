"""PartialObjectMetadata: the metadata of an object, cut out of its bytes without decoding them.

Cost: one scan of the item (about 3 µs for a 3.7 kB pod).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from proreus.api.group_version import GroupVersionKind
from proreus.api.wire import json, splice
from proreus.server.views.response import (
    ListParts,
    ObjectFrames,
    frame,
    list_metadata,
)
from proreus.server.watch_cache.object import EncodedObject
from proreus.server.watch_cache.query import ListResult


class _Item(msgspec.Struct):
    metadata: msgspec.Raw


_DECODER = msgspec.json.Decoder(_Item)


def cut_metadata(item: bytes) -> bytes:
    """The bytes of ``metadata`` inside an item."""
    return bytes(_DECODER.decode(splice.whole(item)).metadata)


class MetadataView(ObjectFrames):
    """The same for every kind; only the version of meta.k8s.io differs."""

    __slots__ = ("_head", "_list_head", "gvk", "version")
    items_have_kind = True

    def __init__(self, version: str = "v1") -> None:
        self.version = version
        api_version = f"meta.k8s.io/{version}"
        self.gvk = GroupVersionKind("meta.k8s.io", version, "PartialObjectMetadata")
        self._head = splice.kind_head(self.gvk.kind, api_version) + b'"metadata":'
        self._list_head = splice.kind_head("PartialObjectMetadataList", api_version)

    def event(self, event_type: str, obj: EncodedObject) -> bytes:
        return frame(event_type.encode(), self.embedded(obj))

    first_event = event

    def object(self, obj: EncodedObject) -> bytes:
        return self.embedded(obj) + b"\n"

    def embedded(self, obj: EncodedObject) -> bytes:
        return self.empty_object(cut_metadata(obj.item))

    def empty_object(self, metadata: bytes) -> bytes:
        return b"%b%b}" % (self._head, metadata)

    def parts(self, listing: ListResult, *, continue_token: str = "") -> ListParts:
        head = b'%b"metadata":%b,"items":' % (
            self._list_head,
            list_metadata(listing, continue_token),
        )
        # A list of nothing has null here, unlike every other list (server.md §12).
        return ListParts(head, "items", map(self.embedded, listing.objects), empty=b"null")

    def document(self, obj: Mapping[str, Any]) -> bytes:
        return self.empty_object(json.encode(obj.get("metadata") or {})) + b"\n"

    def __eq__(self, other: Any) -> bool:
        return type(other) is MetadataView and other.version == self.version

    def __hash__(self) -> int:
        return hash((MetadataView, self.version))

    def __repr__(self) -> str:
        return f"<MetadataView {self.version}>"
