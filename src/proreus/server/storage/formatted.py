"""A storage around another one: objects are written in one format and read in any.

Above storage an object is its JSON bytes ("Bytes first" in ARCHITECTURE.md). In a store that writes
CBOR (``--storage-media-type``) they are packed on their way in; on the way out the first bytes of
each value say what it is, so that one store may have both and the setting may change at any time. A
value of the other format is stale: a write that changes nothing writes it anew, which is how a
storage migration rewrites a store. What is no object is kept as it is.

Cost: nothing is decoded in a store of JSON; in one of CBOR an object of 1 KB takes about 30 µs to
write and 15 µs to read, once: lists and watches are answered from the cache.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import replace
from enum import Enum

import structlog

from proreus.api.wire import splice, stored_cbor
from proreus.server.storage.health import Health
from proreus.server.storage.interface import (
    DAMAGED,
    Change,
    ChangeBatch,
    KeyExists,
    OldValue,
    Page,
    PastValue,
    RevisionConflict,
    Storage,
    StoredValue,
    Ttl,
)

_log = structlog.get_logger(__name__)
_PER_TURN = 256  # values unpacked before others get the event loop: some milliseconds


class StorageFormat(Enum):
    """By Kubernetes' media types."""

    JSON = "application/json"
    CBOR = "application/cbor"


class FormattedStorage:
    """See the module."""

    def __init__(self, inner: Storage, written: StorageFormat) -> None:
        self._inner = inner
        self._is_packing = written is StorageFormat.CBOR
        self._stale = splice.METADATA if self._is_packing else stored_cbor.SELF_DESCRIBED
        self._converted_prefixes = (self._stale, stored_cbor.SELF_DESCRIBED)
        self.is_newest = inner.is_newest
        self.count = inner.count
        self.current_revision = inner.current_revision
        self.request_progress = inner.request_progress
        self.compact = inner.compact
        self.committed_at = inner.committed_at
        self.run = inner.run

    async def create(self, key: str, value: bytes, *, ttl_s: Ttl = None) -> int:
        try:
            return await self._inner.create(key, self._written(value), ttl_s=ttl_s)
        except KeyExists as error:
            raise KeyExists(self._read(error.current)) from error

    async def update(
        self, key: str, value: bytes, *, expected: int, ttl_s: Ttl = None, replaced: OldValue = None
    ) -> int:
        # What is replaced goes to watches alone, and these read it in either format.
        try:
            return await self._inner.update(
                key, self._written(value), expected=expected, ttl_s=ttl_s, replaced=replaced
            )
        except RevisionConflict as error:
            raise self._conflict(key, expected, error) from error

    async def delete(self, key: str, *, expected: int, replaced: OldValue = None) -> int:
        try:
            return await self._inner.delete(key, expected=expected, replaced=replaced)
        except RevisionConflict as error:
            raise self._conflict(key, expected, error) from error

    async def get(self, key: str, *, at_least: int = 0) -> StoredValue | None:
        found = await self._inner.get(key, at_least=at_least)
        return None if found is None else self._read(found)

    async def list(
        self, prefix: str, *, start: str = "", limit: int = 0, revision: int = 0
    ) -> Page:
        page = await self._inner.list(prefix, start=start, limit=limit, revision=revision)
        if not any(item.value.startswith(self._converted_prefixes) for item in page.items):
            return page
        return replace(page, items=tuple([value async for value in self._each(page.items)]))

    async def versions(self, key: str, *, limit: int) -> tuple[PastValue, ...]:
        found = await self._inner.versions(key, limit=limit)
        return tuple(
            PastValue(past.revision, past.value and self._unpacked(key, past.value))
            for past in found
        )

    def watch(
        self, prefix: str, *, after: int, with_old: bool = True
    ) -> AbstractAsyncContextManager[AsyncIterator[ChangeBatch]]:
        return self._watch(prefix, after, with_old)

    @asynccontextmanager
    async def _watch(
        self, prefix: str, after: int, with_old: bool
    ) -> AsyncIterator[AsyncIterator[ChangeBatch]]:
        async with self._inner.watch(prefix, after=after, with_old=with_old) as batches:
            yield self._batches(batches)

    async def _batches(self, batches: AsyncIterator[ChangeBatch]) -> AsyncIterator[ChangeBatch]:
        async for batch in batches:
            if any(map(_is_packed, batch.changes)):
                yield ChangeBatch(tuple(map(self._change, batch.changes)), batch.revision)
            else:
                yield batch

    @property
    def compacted_revision(self) -> int:
        return self._inner.compacted_revision

    @property
    def health(self) -> Health:
        return self._inner.health

    def _written(self, value: bytes) -> bytes:
        if self._is_packing and value.startswith(splice.METADATA):
            return stored_cbor.pack(value)
        return value

    async def _each(self, values: Iterable[StoredValue]) -> AsyncIterator[StoredValue]:
        for number, found in enumerate(values, 1):
            yield self._read(found)
            if not number % _PER_TURN:
                await asyncio.sleep(0)

    def _change(self, change: Change) -> Change:
        old = None if change.old is None else self._read(change.old)
        new = None if change.new is None else self._read(change.new)
        return Change(change.revision, change.key, old, new)

    def _read(self, found: StoredValue) -> StoredValue:
        is_stale = found.is_stale or found.value.startswith(self._stale)
        value = self._unpacked(found.key, found.value)
        if value is found.value and is_stale is found.is_stale:
            return found
        return StoredValue(found.key, value, found.revision, is_stale)

    def _unpacked(self, key: str, value: bytes) -> bytes:
        if not value.startswith(stored_cbor.SELF_DESCRIBED):
            return value
        try:
            unpacked = stored_cbor.unpack(value)
        except ValueError as error:
            reason = str(error)
        else:
            if unpacked.startswith(splice.METADATA):
                return unpacked
            reason = "it does not begin with metadata"
        _log.error("an object is no CBOR of ours and can only be deleted", key=key, reason=reason)
        return DAMAGED

    def _conflict(self, key: str, expected: int, lost: RevisionConflict) -> RevisionConflict:
        current = None if lost.current is None else self._read(lost.current)
        return RevisionConflict(key, expected, current)

    def __repr__(self) -> str:
        return repr(self._inner)


def _is_packed(change: Change) -> bool:
    old, new = change.old, change.new
    return (new is not None and new.value.startswith(stored_cbor.SELF_DESCRIBED)) or (
        old is not None and old.value.startswith(stored_cbor.SELF_DESCRIBED)
    )
