"""A list answer, taken apart: its header and its items as KubeObjects.

Receives: the body of a LIST, from ``client.rest``.  Hands on: KubeObjects, to a pager or reflector.
Cost: 10,000 pods of 3.7 kB (37 MB) in about 0.1 s: one scan that finds the items, one per item that
reads its header. Nothing else is decoded, and the items do not keep the body alive.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import field
from typing import Generic

import msgspec

from proreus.api.object import KubeObject, ObjectDecodeError
from proreus.api.object_type import Object
from proreus.lazy_dataclass import dataclass


@dataclass(frozen=True, slots=True)
class ObjectList(Generic[Object]):
    """A list, or one page of it. ``continue_token`` is empty on the last page."""

    items: list[Object]
    resource_version: str
    continue_token: str = ""
    remaining_item_count: int | None = None
    api_version: str = ""
    kind: str = ""

    def __iter__(self) -> Iterator[Object]:
        return iter(self.items)

    def __len__(self) -> int:
        return len(self.items)

    def __repr__(self) -> str:
        more = ", more to come" if self.continue_token else ""
        return f"<{self.kind} of {len(self.items)} at version {self.resource_version}{more}>"


class _ListMetadata(msgspec.Struct, rename={"continue_token": "continue"}):
    resourceVersion: str = ""
    continue_token: str = ""
    remainingItemCount: int | None = None


class _ListHeader(msgspec.Struct):
    apiVersion: str = ""
    kind: str = ""
    metadata: _ListMetadata | None = None
    items: list[msgspec.Raw] | None = None


_decode = msgspec.json.Decoder(_ListHeader).decode


@dataclass(slots=True)
class ListDecoder:
    """Decode in steps, so that a loop can breathe between them: ``while decoder.step(): ...``."""

    body: bytes
    _header: _ListHeader = field(init=False)
    _items: list[KubeObject] = field(init=False, default_factory=list)

    def __post_init__(self) -> None:
        try:
            self._header = _decode(self.body)
        except msgspec.DecodeError as problem:
            raise ObjectDecodeError(f"not a list of objects: {problem}") from problem
        if not self._header.kind.endswith("List"):
            raise ObjectDecodeError(f"not a list of objects, but a {self._header.kind or 'value'}")

    def step(self, count: int = 1000) -> bool:
        """Read the next ``count`` items; False once none is left."""
        found, header, done = self._header.items or [], self._header, len(self._items)
        kind = header.kind.removesuffix("List")
        # A plain "List" holds mixed kinds, and then every item says its own.
        api_version = header.apiVersion if kind else ""
        from_bytes = KubeObject.from_bytes
        self._items += [
            from_bytes(raw, api_version=api_version, kind=kind)
            for raw in found[done : done + count]
        ]
        return len(self._items) < len(found)

    def result(self) -> ObjectList:
        metadata = self._header.metadata or _ListMetadata()
        return ObjectList(
            self._items,
            metadata.resourceVersion,
            metadata.continue_token,
            metadata.remainingItemCount,
            self._header.apiVersion,
            self._header.kind,
        )
