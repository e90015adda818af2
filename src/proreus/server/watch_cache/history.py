"""Recent changes of one resource, kept so that a late watcher can catch up and the past be listed.

Receives: Transition, in revision order, from ``cache``.
Hands on: transitions after a revision, to ``catch_up`` and ``past``.
Invariant: positions only grow; a reader behind the oldest kept one gets Overtaken, never a
reused slot. Everything after ``complete_after`` is here. What came before the first change can be
put in front (``recall``) until one was dropped.

Capacity starts at 100, doubles while a full ring spans less than the window, halves when a quarter
of it would have been enough (server.md §4.3). Cost: O(1) per change, O(log n) to find a revision.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import field

from proreus.api.status import Expired
from proreus.lazy_dataclass import dataclass
from proreus.server.watch_cache.object import CachedObject

CAPACITY_MIN = 100
CAPACITY_MAX = 100 * 1024
WINDOW_S = 75.0


@dataclass(slots=True, eq=False, repr=False)
class Transition:
    """One change with both states as cached. Created: ``old`` is None. Deleted: ``new`` is."""

    revision: int
    key: str
    old: CachedObject | None
    new: CachedObject | None
    at_s: float
    is_alike: bool = False  # to selectors, as most updates are: what one matches, both do
    has_readers: bool = False  # some live watcher was given it
    _deleted: CachedObject | None = field(default=None, init=False)

    def deleted(self, old: CachedObject) -> CachedObject:
        """The previous content under this change's revision, made once for all watchers."""
        if self._deleted is None:
            self._deleted = old.at_revision(self.revision)
        return self._deleted

    def __repr__(self) -> str:
        verb = "created" if self.old is None else "deleted" if self.new is None else "changed"
        return f"<Transition: {self.key} {verb} at {self.revision}>"


class Overtaken(Exception):
    """The reader's position is older than the oldest change kept."""


class History:
    def __init__(
        self, list_revision: int, *, window_s: float = WINDOW_S, is_from_start: bool = False
    ) -> None:
        """``is_from_start``: nothing was dropped, and there may be more before it."""
        self._window_s = window_s
        self._capacity = CAPACITY_MIN
        self._ring: list[Transition] = []
        self._laid_from = 0  # the position that stands in slot 0 of the ring
        self._start = 0
        self._end = 0
        self._complete_after = list_revision
        self.is_from_start = is_from_start

    @property
    def end(self) -> int:
        """The position after the newest change."""
        return self._end

    @property
    def capacity(self) -> int:
        return self._capacity

    @property
    def complete_after(self) -> int:
        """The oldest revision a watch can start from: every change after it is here."""
        return self._complete_after

    def __len__(self) -> int:
        return self._end - self._start

    def append(self, transition: Transition) -> None:
        if self._end - self._start == self._capacity:
            self._resize(transition.at_s)
            if self._end - self._start == self._capacity:
                self._drop_oldest()
        slot = (self._end - self._laid_from) % self._capacity
        if slot == len(self._ring):
            self._ring.append(transition)
        else:
            self._ring[slot] = transition
        self._end += 1

    def position_after(self, revision: int) -> int:
        """The position of the first change after ``revision``. Raises Expired."""
        if revision < self._complete_after:
            raise Expired(f"too old resource version: {revision} ({self._complete_after})")
        low, high = self._start, self._end
        while low < high:
            middle = (low + high) // 2
            if self._at(middle).revision > revision:
                high = middle
            else:
                low = middle + 1
        return low

    def read(self, position: int, count: int) -> list[Transition]:
        """Up to ``count`` changes from ``position`` on. Raises Overtaken."""
        if position < self._start:
            raise Overtaken
        return [self._at(p) for p in range(position, min(position + count, self._end))]

    def revision_before(self, position: int) -> int:
        """Of the last change that a reader at ``position`` has read."""
        if position <= self._start or position > self._end:
            return self._complete_after
        return self._at(position - 1).revision

    def newest_first(self) -> Iterator[Transition]:
        return (self._at(position) for position in range(self._end - 1, self._start - 1, -1))

    def extend_back(self, transitions: list[Transition], after: int) -> None:
        """Put in front everything that happened after ``after`` and until ``complete_after``."""
        assert self.is_from_start, "a change in between was dropped"
        kept = [*transitions, *self.read(self._start, len(self))]
        while self._capacity < len(kept):
            self._capacity *= 2
        self._start -= len(transitions)
        self._ring, self._laid_from = kept, self._start
        self._complete_after = after

    def forget(self, revision: int) -> None:
        """Keep nothing: a watch can start from ``revision``, the present one, at the earliest."""
        self.is_from_start = False
        self._start = self._end
        self._complete_after = revision

    def backwards_to(self, revision: int) -> Iterator[Transition]:
        """Changes after ``revision``, newest first; the caller checked ``complete_after``."""
        for position in range(self._end - 1, self._start - 1, -1):
            transition = self._at(position)
            if transition.revision <= revision:
                return
            yield transition

    def _at(self, position: int) -> Transition:
        return self._ring[(position - self._laid_from) % self._capacity]

    def _drop_oldest(self) -> None:
        dropped = self._at(self._start)
        self._start += 1
        self.is_from_start = False
        # A transaction of several keys has one revision: half of it kept is nothing kept.
        self._complete_after = max(dropped.revision, self._at(self._start).revision - 1)

    def _resize(self, now_s: float) -> None:
        capacity = self._capacity
        if now_s - self._at(self._start).at_s < self._window_s:
            capacity = min(capacity * 2, CAPACITY_MAX)
        elif now_s - self._at(self._end - capacity // 4).at_s > self._window_s:
            capacity = max(capacity // 2, CAPACITY_MIN)
        if capacity == self._capacity:
            return
        while len(self) > capacity:
            self._drop_oldest()
        self._ring = [self._at(p) for p in range(self._start, self._end)]
        self._laid_from, self._capacity = self._start, capacity

    def __repr__(self) -> str:
        return (
            f"<History of {len(self)} changes after {self._complete_after}, "
            f"capacity {self._capacity}>"
        )
