"""Encodings of objects besides JSON, kept so that each version of an object is encoded once.

An encoding is found by the view that it was made for and the object's key, and is used only if it
was made of the very bytes that are to be sent now: forgetting one, or keeping a wrong one, changes
nothing but speed. A newer version of an object takes the place of the older one.

Bounded by bytes, those of the objects included, which may have been replaced since. Kept in two
halves: what is asked for is in the recent one, and when that is full it becomes the older one,
whose rest is dropped. Nothing is kept of a server that nobody asks for these formats.

Cost: 0.3 µs to find one, 1 µs to add one.
"""

from __future__ import annotations

from threading import Lock

import msgspec

from proreus.server.watch_cache.object import EncodedObject

_BYTES_MAX = 64 * 1024 * 1024
ENTRY_BYTES = 350  # of one entry beside its bytes


class _Kept(msgspec.Struct, frozen=True, gc=False):
    revision: int
    item: bytes
    encoding: bytes

    @property
    def size(self) -> int:
        return len(self.item) + len(self.encoding) + ENTRY_BYTES


class Place:
    """Where the encodings of one view are: told apart by identity."""

    __slots__ = ()


class RememberedEncodings:
    """One for all views of a server."""

    def __init__(self, bytes_max: int = _BYTES_MAX) -> None:
        self.half_bytes = bytes_max // 2
        self._recent: dict[tuple[Place, str], _Kept] = {}
        self._older: dict[tuple[Place, str], _Kept] = {}
        self._recent_bytes = 0
        self._changing = Lock()  # long objects are encoded on another thread

    def find(self, place: Place, obj: EncodedObject) -> bytes | None:
        at = (place, obj.key)
        kept = self._recent.get(at)
        if kept is not None:
            return kept.encoding if kept.item == obj.item else None
        kept = self._older.get(at)
        if kept is None or kept.item != obj.item:
            return None
        self.add(place, obj, kept.encoding)
        return kept.encoding

    def add(self, place: Place, obj: EncodedObject, encoding: bytes) -> None:
        """Unless a newer version is here: lists of the past and late watches read older ones."""
        at, kept = (place, obj.key), _Kept(obj.revision, obj.item, encoding)
        if kept.size > self.half_bytes or not obj.revision:
            return
        with self._changing:
            before = self._recent.get(at) or self._older.get(at)
            if before is not None and before.revision > kept.revision:
                return
            self._drop(at)
            self._recent[at] = kept
            self._recent_bytes += kept.size
            if self._recent_bytes > self.half_bytes:
                self._older, self._recent, self._recent_bytes = self._recent, {}, 0

    def forget(self, place: Place, obj: EncodedObject) -> None:
        """``obj`` says that it is no more; what has its revision may have taken its place."""
        at = (place, obj.key)
        with self._changing:
            before = self._recent.get(at) or self._older.get(at)
            if before is not None and before.revision < obj.revision:
                self._drop(at)

    def _drop(self, at: tuple[Place, str]) -> None:
        self._older.pop(at, None)
        before = self._recent.pop(at, None)
        if before is not None:
            self._recent_bytes -= before.size

    @property
    def kept_bytes(self) -> int:
        return self._recent_bytes + sum(kept.size for kept in self._older.values())

    def __len__(self) -> int:
        return len(self._recent) + len(self._older)

    def __repr__(self) -> str:
        return f"<RememberedEncodings of {len(self)} objects, {self.kept_bytes} B>"
