"""The in-memory Storage: the smallest correct one, not durable.

The reference in tests, and the store of servers that live as long as a test.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager

from proreus.aio.clock import Clock, Timer
from proreus.lazy_dataclass import dataclass
from proreus.server.storage import compaction
from proreus.server.storage.change_log import Position
from proreus.server.storage.health import Health, Healthy
from proreus.server.storage.indexed import IndexedStorage
from proreus.server.storage.interface import (
    COMPACTION_S,
    Change,
    ChangeBatch,
    Compacted,
    KeyExists,
    OldValue,
    Page,
    PastValue,
    RevisionConflict,
    StoredValue,
    Ttl,
)
from proreus.server.storage.keyspace import check_key, check_prefix
from proreus.server.storage.revision_index import RevisionIndex

_PAST_MAX = 1000


@dataclass(frozen=True, slots=True)
class StoreCheckpoint:
    """All that a store held at one time. ``expiries``: how many seconds keys had left."""

    revision: int
    compacted: int
    index: RevisionIndex
    values: Mapping[int, StoredValue]
    history: tuple[Change, ...]
    expiries: Mapping[str, float]

    def __repr__(self) -> str:
        return f"<StoreCheckpoint of {len(self.index)} keys at revision {self.revision}>"


class MemoryStorage(IndexedStorage):
    """See the module and ``interface``. Revision 1 is the empty store, as in etcd."""

    def __init__(self, clock: Clock) -> None:
        super().__init__(RevisionIndex(), revision=1, compacted=0)
        self._clock = clock
        self._values: dict[int, StoredValue] = {}
        self._history: list[Change] = []
        self._expiries: dict[str, _Expiry] = {}

    @classmethod
    @asynccontextmanager
    async def open(cls, clock: Clock) -> AsyncIterator[MemoryStorage]:
        storage = cls(clock)
        try:
            yield storage
        finally:
            storage.close()

    @property
    def revision(self) -> int:
        return self._log.revision

    def close(self) -> None:
        for expiry in self._expiries.values():
            expiry.timer.cancel()
        self._expiries.clear()

    def checkpoint(self) -> StoreCheckpoint:
        """O(keys and kept versions), no value is copied."""
        now = self._clock.monotonic()
        return StoreCheckpoint(
            revision=self._log.revision,
            compacted=self._compacted,
            index=self._index.copy(),
            values=self._values.copy(),
            history=tuple(self._history),
            expiries={key: expiry.due_s - now for key, expiry in self._expiries.items()},
        )

    def differences(self, checkpoint: StoreCheckpoint) -> Mapping[str, StoredValue | None]:
        """What each key that is different now had then; None: nothing. O(keys): a value is the
        same only if it is the very same object, since revisions may have been given twice."""
        now = {key: self._values[at] for key, at in self._index.live_items()}
        then = {key: checkpoint.values[at] for key, at in checkpoint.index.live_items()}
        found: dict[str, StoredValue | None] = {
            key: value for key, value in then.items() if now.get(key) is not value
        }
        found.update((key, None) for key in now if key not in then)
        return found

    def set_back(self, checkpoint: StoreCheckpoint) -> None:
        """Exactly what it was then, revision included. Its watches are not told: their owner knows
        what has changed."""
        self.close()
        self._index = checkpoint.index.copy()
        self._values = dict(checkpoint.values)
        self._history = list(checkpoint.history)
        self._compacted = checkpoint.compacted
        self._log.set_back(checkpoint.revision)
        for key, left_s in checkpoint.expiries.items():
            if (value := self._current(key)) is not None:
                self._expire_after(left_s, value)

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

    async def versions(self, key: str, *, limit: int) -> tuple[PastValue, ...]:
        check_key(key)
        return tuple(
            PastValue(revision, self._values[revision].value)
            if revision > 0
            else PastValue(-revision, None)
            for revision in self._index.versions(key)[-limit:]
        )

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

    async def run(self, compaction_s: float = COMPACTION_S) -> None:
        await compaction.compact_regularly(self, self._clock, compaction_s)

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
            self._expire_after(ttl_s, new)
        return new.revision

    def _expire_after(self, ttl_s: float, value: StoredValue) -> None:
        timer = self._clock.call_later(ttl_s, lambda: self._expire(value))
        self._expiries[value.key] = _Expiry(timer, self._clock.monotonic() + ttl_s)

    def _remove(self, old: StoredValue) -> int:
        revision = self._log.revision + 1
        self._index.remove(old.key, revision)
        self._publish(Change(revision, old.key, old, None))
        return revision

    def _publish(self, change: Change) -> None:
        if (expiry := self._expiries.pop(change.key, None)) is not None:
            expiry.timer.cancel()
        self._history.append(change)
        self._commits.record(change.revision, self._clock.monotonic())
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


@dataclass(frozen=True, slots=True)
class _Expiry:
    timer: Timer
    due_s: float


def _revision(change: Change) -> int:
    return change.revision
