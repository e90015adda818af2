"""A storage around another one: what goes in is encrypted, what comes out is decrypted.

A value that cannot be decrypted is reported and given as damaged: its object can only be deleted,
and the others are served. A key management service that does not answer is not such a fault: the
call fails with Unavailable, and is made again.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterable, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import replace
from typing import Protocol

import msgspec
import structlog

from proreus.server.storage.encryption.rules import EncryptionRules
from proreus.server.storage.encryption.transformers import Transformer, Undecryptable
from proreus.server.storage.health import Health, Healthy
from proreus.server.storage.interface import (
    COMPACTION_S,
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
_PER_TURN = 256  # values decrypted before others get the event loop: some milliseconds


class KeyService(Transformer, Protocol):
    """A transformer whose key another program keeps."""

    @property
    def health(self) -> Health: ...

    async def follow_when_due(self) -> None:
        """Ask it how it is, if that was long ago."""
        ...


class EncryptedStorage:
    """The rules may be replaced at any time: what is written from then on follows the new ones."""

    def __init__(self, inner: Storage) -> None:
        self._inner = inner
        self._rules = EncryptionRules((), {})
        self.key_services: Sequence[KeyService] = ()

    def use(self, rules: EncryptionRules, key_services: Sequence[KeyService] = ()) -> None:
        self._rules = rules
        self.key_services = key_services

    async def create(self, key: str, value: bytes, *, ttl_s: Ttl = None) -> int:
        try:
            return await self._inner.create(key, self._encrypted(key, value), ttl_s=ttl_s)
        except KeyExists as error:
            raise KeyExists(await self._decrypted(error.current)) from error

    async def update(
        self, key: str, value: bytes, *, expected: int, ttl_s: Ttl = None, replaced: OldValue = None
    ) -> int:
        # What is replaced is stored in another form, which only the inner storage has.
        encrypted = self._encrypted(key, value)
        try:
            return await self._inner.update(key, encrypted, expected=expected, ttl_s=ttl_s)
        except RevisionConflict as error:
            raise await self._conflict(key, expected, error) from error

    async def delete(self, key: str, *, expected: int, replaced: OldValue = None) -> int:
        try:
            return await self._inner.delete(key, expected=expected)
        except RevisionConflict as error:
            raise await self._conflict(key, expected, error) from error

    async def get(self, key: str, *, at_least: int = 0) -> StoredValue | None:
        found = await self._inner.get(key, at_least=at_least)
        return None if found is None else await self._decrypted(found)

    def is_newest(self, key: str, revision: int) -> bool | None:
        return self._inner.is_newest(key, revision)

    async def list(
        self, prefix: str, *, start: str = "", limit: int = 0, revision: int = 0
    ) -> Page:
        page = await self._inner.list(prefix, start=start, limit=limit, revision=revision)
        return replace(page, items=tuple([value async for value in self._each(page.items)]))

    async def count(self, prefix: str) -> int:
        return await self._inner.count(prefix)

    async def current_revision(self) -> int:
        return await self._inner.current_revision()

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
            changes = tuple([await self._change(change) for change in batch.changes])
            yield ChangeBatch(changes, batch.revision)

    async def versions(self, key: str, *, limit: int) -> tuple[PastValue, ...]:
        found = await self._inner.versions(key, limit=limit)
        return tuple([await self._past(key, version) for version in found])

    async def _past(self, key: str, version: PastValue) -> PastValue:
        if version.value is None:
            return version
        found = await self._decrypted(StoredValue(key, version.value, version.revision))
        return PastValue(version.revision, found.value)

    def committed_at(self, revision: int) -> float | None:
        return self._inner.committed_at(revision)

    async def request_progress(self) -> None:
        await self._inner.request_progress()

    async def compact(self, revision: int) -> None:
        await self._inner.compact(revision)

    @property
    def compacted_revision(self) -> int:
        return self._inner.compacted_revision

    @property
    def health(self) -> Health:
        of_all = (self._inner.health, *(service.health for service in self.key_services))
        return next((one for one in of_all if not isinstance(one, Healthy)), of_all[0])

    async def run(self, compaction_s: float = COMPACTION_S) -> None:
        await self._inner.run(compaction_s)

    def _encrypted(self, key: str, value: bytes) -> bytes:
        writer = self._rules.of(key).writer
        return writer.prefix + writer.encrypt(key, value)

    async def _each(self, values: Iterable[StoredValue]) -> AsyncIterator[StoredValue]:
        for number, value in enumerate(values, 1):
            yield await self._decrypted(value)
            if not number % _PER_TURN:
                await asyncio.sleep(0)

    async def _change(self, change: Change) -> Change:
        old = None if change.old is None else await self._decrypted(change.old)
        new = None if change.new is None else await self._decrypted(change.new)
        return Change(change.revision, change.key, old, new)

    async def _decrypted(self, found: StoredValue) -> StoredValue:
        transformers = self._rules.of(found.key)
        reader = transformers.reader(found.value)
        try:
            if reader is None:
                raise Undecryptable("no matching prefix found")
            stored = found.value[len(reader.prefix) :]
            if (preparing := reader.prepare(stored)) is not None:
                await preparing
            value = reader.decrypt(found.key, stored)
        except Undecryptable as error:
            _log.error(
                "an object cannot be decrypted and can only be deleted",
                key=found.key,
                reason=str(error),
                remedy="add the key it was written with to the encryption configuration",
            )
            return StoredValue(found.key, DAMAGED, found.revision)
        is_stale = reader is not transformers.writer or reader.is_stale(stored)
        return msgspec.structs.replace(found, value=value, is_stale=is_stale)

    async def _conflict(self, key: str, expected: int, lost: RevisionConflict) -> RevisionConflict:
        current = None if lost.current is None else await self._decrypted(lost.current)
        return RevisionConflict(key, expected, current)

    def __repr__(self) -> str:
        return f"<EncryptedStorage over {self._inner!r}>"
