"""What happened to each object, until the informer takes it.

Receives: watch events and lists, from ``reflector``.  Hands on: all deltas of one object at a time,
to ``informer``.
Invariant: a key is queued iff it has deltas; deltas of one object keep their order; objects come
out in the order in which their oldest pending delta arrived.
Full: ``wait_room`` holds the reflector, which stops reading, so pressure reaches the server. A
relist is exempt: its objects are in memory already and bounded by the collection.
Cost: about 1 µs per delta in and out.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable
from enum import StrEnum
from typing import Protocol, TypeAlias

import msgspec

from proreus.aio.clock import Clock
from proreus.aio.gate import Gate
from proreus.api.object import KubeObject


class DeltaType(StrEnum):
    ADDED = "Added"
    UPDATED = "Updated"
    DELETED = "Deleted"
    REPLACED = "Replaced"  # seen in a list: new, changed or unchanged


class Delta(msgspec.Struct, frozen=True, gc=False):
    """One thing that happened to one object.

    A DELETED whose ``final_state_known`` is False is a tombstone: the deletion itself was missed,
    and ``object`` is the last state that was seen.
    """

    type: DeltaType
    object: KubeObject
    final_state_known: bool = True


class KnownObjects(Protocol):
    """The cache that the deltas will be applied to."""

    def get(self, key: str) -> KubeObject | None: ...

    def keys(self) -> list[str]: ...


Process: TypeAlias = Callable[[str, list[Delta], bool], None]
"""Key, its deltas, and whether they belong to the initial state."""


class _Pending(msgspec.Struct, gc=False):
    deltas: list[Delta]
    arrived_at: float
    seen_before: str  # the newest resource version seen before this arrival


class DeltaFifo:
    """One producer and one consumer on one event loop."""

    def __init__(self, known: KnownObjects, *, clock: Clock, limit: int = 1_000) -> None:
        self._known = known
        self._clock = clock
        self._limit = limit
        self._queue: deque[str] = deque()
        self._pending: dict[str, _Pending] = {}
        self._delta_count = 0
        self._seen = ""
        self._initial_left: int | None = None  # None: no list has come yet
        self._news = Gate()
        self._room = Gate(is_open=True)

    def __len__(self) -> int:
        """How many objects have deltas pending."""
        return len(self._queue)

    @property
    def delta_count(self) -> int:
        return self._delta_count

    @property
    def has_synced(self) -> bool:
        """The first list has been taken out and applied, to its last object."""
        return self._initial_left == 0

    @property
    def applied_resource_version(self) -> str:
        """The newest resource version up to which everything seen has been taken out."""
        if self._queue:
            # All that arrived before the head's first delta belongs to keys already taken.
            return self._pending[self._queue[0]].seen_before
        return self._seen

    @property
    def lag_s(self) -> float:
        """How long the oldest pending delta has been waiting."""
        if not self._queue:
            return 0.0
        return self._clock.monotonic() - self._pending[self._queue[0]].arrived_at

    # The producer's side.

    def add(self, obj: KubeObject) -> None:
        self._append(obj.key, Delta(DeltaType.ADDED, obj))
        self._seen = obj.resource_version

    def update(self, obj: KubeObject) -> None:
        self._append(obj.key, Delta(DeltaType.UPDATED, obj))
        self._seen = obj.resource_version

    def delete(self, obj: KubeObject) -> None:
        """A deletion of an object that is not known is dropped."""
        key = obj.key
        if key in self._pending or self._known.get(key) is not None:
            self._append(key, Delta(DeltaType.DELETED, obj))
        self._seen = obj.resource_version

    def replace(self, objects: Iterable[KubeObject], resource_version: str) -> None:
        """The whole collection as of ``resource_version``. What is known but not in it was deleted
        unseen and gets a tombstone; tombstones come before the list's own objects."""
        listed = {obj.key: obj for obj in objects}
        for key in self._missing_from(listed):
            last = self._last_state(key)
            if last is not None:
                self._append(key, Delta(DeltaType.DELETED, last, final_state_known=False))
        for key, obj in listed.items():
            self._append(key, Delta(DeltaType.REPLACED, obj))
        self._seen = resource_version
        if self._initial_left is None:
            # No object needs to come: an empty collection is synced once it is known to be empty.
            self._initial_left = len(self._queue)
        self._news.open()

    def bookmark(self, resource_version: str) -> None:
        """Nothing happened up to ``resource_version`` beyond what was queued."""
        self._seen = resource_version
        self._news.open()

    @property
    def is_full(self) -> bool:
        return self._delta_count >= self._limit

    async def wait_room(self) -> None:
        """Wait until the consumer has caught up; it never blocks, so this wait ends."""
        await self._room.wait_open()

    # The consumer's side.

    async def wait_news(self) -> None:
        """Wait until deltas are pending or a list or bookmark moved the version. There is no
        deadline: a quiet collection is healthy, and the reflector finds a dead one."""
        await self._news.wait_open()
        if not self._queue:
            self._news.shut()

    def pop(self, process: Process) -> None:
        """Take out the oldest object and have all its deltas processed. Only afterwards does the
        object count for ``has_synced``, so synced means applied."""
        key = self._queue.popleft()
        pending = self._pending.pop(key)
        was_full = self.is_full
        self._delta_count -= len(pending.deltas)
        if not self._queue:
            self._news.shut()
        if was_full and not self.is_full:
            self._room.open()
        process(key, pending.deltas, self._initial_left != 0)
        if self._initial_left:
            self._initial_left -= 1

    # Parts.

    def _append(self, key: str, delta: Delta) -> None:
        pending = self._pending.get(key)
        if pending is None:
            self._pending[key] = _Pending([delta], self._clock.monotonic(), self._seen)
            self._queue.append(key)
            if len(self._queue) == 1:
                self._news.open()
        elif delta.type is DeltaType.DELETED and pending.deltas[-1].type is DeltaType.DELETED:
            # Two deletions in a row are one; the one that was seen says more than the one guessed.
            if delta.final_state_known:
                pending.deltas[-1] = delta
            return
        else:
            pending.deltas.append(delta)
        self._delta_count += 1
        if self._delta_count == self._limit:
            self._room.shut()

    def _missing_from(self, listed: dict[str, KubeObject]) -> list[str]:
        known = dict.fromkeys(self._known.keys())
        known.update(dict.fromkeys(self._pending))
        return [key for key in known if key not in listed]

    def _last_state(self, key: str) -> KubeObject | None:
        """The newest state seen of ``key``; None if its deletion is already pending."""
        pending = self._pending.get(key)
        if pending is None:
            return self._known.get(key)
        last = pending.deltas[-1]
        return None if last.type is DeltaType.DELETED else last.object

    def __repr__(self) -> str:
        synced = "synced" if self.has_synced else "not synced"
        return f"<DeltaFifo {synced}, {self._delta_count} deltas of {len(self)} objects>"
