"""The in-memory Storage: the smallest correct one, not durable.

The reference in tests, and the store of servers that live as long as a test.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from proreus.aio.clock import Clock, Timer
from proreus.server.storage import compaction
from proreus.server.storage.change_log import Position
from proreus.server.storage.health import Health, Healthy
from proreus.server.storage.indexed import IndexedStorage
from proreus.server.storage.interface import (
    Change,
    ChangeBatch,
    Compacted,
    KeyExists,
    OldValue,
    Page,
    RevisionConflict,
    StoredValue,
    Ttl,
)
from proreus.server.storage.keyspace import check_key, check_prefix
from proreus.server.storage.revision_index import RevisionIndex

_PAST_MAX = 1000


class MemoryStorage(IndexedStorage):
    """See the module and ``interface``. Revision 1 is the empty store, as in etcd."""

    def __init__(self, clock: Clock) -> None:
        super().__init__(RevisionIndex(), revision=1, compacted=0)
        self._clock = clock
        self._values: dict[int, StoredValue] = {}
        self._history: list[Change] = []
        self._expiries: dict[str, Timer] = {}

    @classmethod
    @asynccontextmanager
    async def open(cls, clock: Clock) -> AsyncIterator[MemoryStorage]:
        storage = cls(clock)
        try:
            yield storage
        finally:
            for timer in storage._expiries.values():
                timer.cancel()

    async def create(self, key: str, value: bytes, *, ttl_s: Ttl = None) -> int:
        check_key(key)
        if (current := self._current(key)) is not None:
            raise KeyExists(current)
        return self._put(key, value, None, ttl_s)

    async def update(
        self, key: str, value: bytes, *, expected: int, ttl_s: Ttl = None, replaced: OldValue = None
    ) -> int:
        check_key(key)
        return self._put(key, value, self._expect(key, expected), ttl_s)

    async def delete(self, key: str, *, expected: int, replaced: OldValue = None) -> int:
        check_key(key)
        return self._remove(self._expect(key, expected))

    async def get(self, key: str, *, at_least: int = 0) -> StoredValue | None:
        check_key(key)
        self._check_reached(at_least)
        return self._current(key)

    async def list(
        self, prefix: str, *, start: str = "", limit: int = 0, revision: int = 0
    ) -> Page:
        check_prefix(prefix)
        self._check_readable(revision)
        span = self._index.at(prefix, start, limit, revision or None)
        items = tuple(self._values[entry.revision] for entry in span.entries)
        return Page(items, revision or self._log.revision, span.remaining > 0, span.remaining)

    async def compact(self, revision: int) -> None:
        self._check_reached(revision)
        self._compacted = max(self._compacted, revision)
        while dropped := self._index.compact(revision, limit=1000):
            for gone in dropped:
                self._values.pop(gone, None)
        del self._history[: bisect_right(self._history, revision, key=_revision)]

    @property
    def health(self) -> Health:
        return Healthy()

    async def run(self) -> None:
        await compaction.compact_regularly(self, self._clock)

    def _current(self, key: str) -> StoredValue | None:
        return self._values.get(self._index.live(key))

    def _expect(self, key: str, expected: int) -> StoredValue:
        current = self._current(key)
        if current is None or current.revision != expected:
            raise RevisionConflict(key, expected, current)
        return current

    def _put(self, key: str, value: bytes, old: StoredValue | None, ttl_s: Ttl) -> int:
        new = StoredValue(key, value, self._log.revision + 1)
        self._values[new.revision] = new
        self._index.put(key, new.revision)
        self._publish(Change(new.revision, key, old, new))
        if ttl_s is not None:
            self._expiries[key] = self._clock.call_later(ttl_s, lambda: self._expire(new))
        return new.revision

    def _remove(self, old: StoredValue) -> int:
        revision = self._log.revision + 1
        self._index.remove(old.key, revision)
        self._publish(Change(revision, old.key, old, None))
        return revision

    def _publish(self, change: Change) -> None:
        if (timer := self._expiries.pop(change.key, None)) is not None:
            timer.cancel()
        self._history.append(change)
        self._log.publish((change,), change.revision)

    def _expire(self, value: StoredValue) -> None:
        if self._index.live(value.key) == value.revision:
            self._remove(value)

    async def _read_past(self, position: Position) -> ChangeBatch:
        if position.after < self._compacted:
            raise Compacted(position.after, self._compacted)
        first = bisect_right(self._history, position.after, key=_revision)
        found = self._history[first : first + _PAST_MAX]
        is_all = first + len(found) == len(self._history)
        mine = tuple(change for change in found if change.key.startswith(position.prefix))
        return ChangeBatch(mine, self._log.revision if is_all else found[-1].revision)

    def __repr__(self) -> str:
        return (
            f"<MemoryStorage with {len(self._index)} keys at revision {self._log.revision}, "
            f"readable since {self._compacted}>"
        )


def _revision(change: Change) -> int:
    return change.revision
