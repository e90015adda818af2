"""Recent changes of a store in this process, read by any number of watches at their own pace.

Receives: Change, in revision order, from ``memory`` or ``sqlite`` after each commit.
Hands on: ChangeBatch, to the watches opened on the store (``watch_cache/ingest``).
Invariant: revisions strictly increase; a watch either finds every change after its position here,
or reads the past from the store.

There is one shared log and a position per watch instead of a queue per watch: nothing is copied,
and a slow watch costs the others nothing. Bound: changes every open watch has read are dropped,
and beyond ``bytes_max`` the oldest are dropped even if unread (that watch then reads the store).
"""

from __future__ import annotations

import asyncio
from bisect import bisect_right
from collections.abc import Awaitable, Callable, Sequence
from itertools import islice

from proreus.lazy_dataclass import dataclass
from proreus.server.storage.interface import Change, ChangeBatch

_BATCH_MAX = 1000


class Position:
    """How far one watch is; ``wake`` is set when something may be new for it."""

    __slots__ = ("after", "prefix", "progress_due", "wake")

    def __init__(self, prefix: str, after: int) -> None:
        self.prefix = prefix
        self.after = after
        self.progress_due = False
        self.wake = asyncio.Event()


class ChangeLog:
    """See the module. ``revision`` is the newest one published."""

    def __init__(self, revision: int, *, bytes_max: int = 32 << 20) -> None:
        self.revision = revision
        self._bytes_max = bytes_max
        self._changes: list[Change] = []
        self._bytes = 0
        # Every change after this revision is in the log.
        self._complete_after = revision
        self._positions: set[Position] = set()

    @property
    def is_watched(self) -> bool:
        return bool(self._positions)

    def open(self, prefix: str, after: int) -> Position:
        position = Position(prefix, after)
        self._positions.add(position)
        return position

    def close(self, position: Position) -> None:
        self._positions.discard(position)

    def publish(self, changes: Sequence[Change], revision: int) -> None:
        """Add what was committed, and wake the watches."""
        if not self._positions:
            self.skip_to(revision)
            return
        self.revision = revision
        self._changes.extend(changes)
        self._bytes += sum(map(_size, changes))
        if self._bytes > self._bytes_max:
            self._trim()
        for position in self._positions:
            position.wake.set()

    def skip_to(self, revision: int) -> None:
        """Something was committed whose changes are not known here: watches read the store."""
        self.revision = revision
        self._forget_all()
        for position in self._positions:
            position.wake.set()

    def set_back(self, revision: int) -> None:
        """The store is again as it was at ``revision``: what came later never was. Watches that
        have read it go on from there."""
        self.revision = revision
        self._forget_all()
        for position in self._positions:
            position.after = min(position.after, revision)

    def request_progress(self) -> None:
        for position in self._positions:
            position.progress_due = True
            position.wake.set()

    def holds(self, position: Position) -> bool:
        """Whether every change after the position is here; if not, read the store."""
        return position.after >= self._complete_after

    def take(self, position: Position) -> ChangeBatch | None:
        """The next batch for a position the log holds; None if there is nothing to say yet."""
        if position.after >= self.revision and not position.progress_due:
            position.wake.clear()
            return None
        first = bisect_right(self._changes, position.after, key=_revision)
        found = list(islice(self._changes, first, first + _BATCH_MAX))
        is_all = first + len(found) == len(self._changes)
        reached = self.revision if is_all else found[-1].revision
        mine = tuple(change for change in found if change.key.startswith(position.prefix))
        is_due = position.progress_due and is_all and reached >= position.after
        position.after = max(position.after, reached)
        if is_all:
            position.progress_due = False
            position.wake.clear()
            if all(other.after >= reached for other in self._positions):
                self._forget_all()
        return ChangeBatch(mine, reached) if mine or is_due else None

    def _forget_all(self) -> None:
        self._complete_after = self.revision
        self._changes.clear()
        self._bytes = 0

    def _trim(self) -> None:
        """Drop the oldest, read or not, down to half the bound."""
        drop, excess = 0, self._bytes - self._bytes_max // 2
        while excess > 0:
            excess -= _size(self._changes[drop])
            drop += 1
        self._drop_until(self._changes[drop - 1].revision)

    def _drop_until(self, revision: int) -> None:
        end = bisect_right(self._changes, revision, key=_revision)
        self._bytes -= sum(map(_size, islice(self._changes, end)))
        del self._changes[:end]
        self._complete_after = max(self._complete_after, min(revision, self.revision))

    def __repr__(self) -> str:
        return (
            f"<ChangeLog at {self.revision}: {len(self._changes)} changes kept, "
            f"{len(self._positions)} watches>"
        )


@dataclass(frozen=True, slots=True)
class LogWatch:
    """An open watch: first the past, as ``read_past`` gives it, then the log, for ever.

    ``read_past(position)`` returns what follows ``position.after``, or raises Compacted.
    """

    log: ChangeLog
    position: Position
    read_past: Callable[[Position], Awaitable[ChangeBatch]]

    def __aiter__(self) -> LogWatch:
        return self

    async def __anext__(self) -> ChangeBatch:
        position = self.position
        while True:
            if self.log.holds(position):
                batch = self.log.take(position)
                if batch is not None:
                    return batch
                # No deadline: a watch may be idle for ever; its owner cancels it.
                await position.wake.wait()
            else:
                batch = await self.read_past(position)
                position.after = batch.revision
                if batch.changes:
                    return batch

    def __repr__(self) -> str:
        return f"<LogWatch of {self.position.prefix} after {self.position.after}>"


def _revision(change: Change) -> int:
    return change.revision


def _size(change: Change) -> int:
    old, new = change.old, change.new
    return 100 + (len(old.value) if old else 0) + (len(new.value) if new else 0)
