"""The state of one cache, and the parts that all caches of a server share."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import chain
from weakref import WeakValueDictionary

from proreus.aio.clock import Clock
from proreus.aio.turns import Turns
from proreus.api.group_version import GroupResource
from proreus.lazy_dataclass import dataclass
from proreus.server.storage.interface import Storage
from proreus.server.watch_cache.freshness import Freshness
from proreus.server.watch_cache.history import WINDOW_S, History
from proreus.server.watch_cache.metrics import Counts, WatchCacheMetrics
from proreus.server.watch_cache.object import CachedObject, ReadAttributes
from proreus.server.watch_cache.query import Selection
from proreus.server.watch_cache.readiness import Readiness
from proreus.server.watch_cache.selecting import key_range
from proreus.server.watch_cache.snapshot import Snapshot
from proreus.server.watch_cache.timer_queue import TimerQueue
from proreus.server.watch_cache.view import Deliver

# Uncached resources answer watches from storage's history in Kubernetes: five to ten minutes.
_UNCACHED_WINDOW_S = 600.0
_InitialKey = tuple[int, tuple[str, str], str | None]


@dataclass(frozen=True, slots=True)
class CacheConfig:
    """What a cache must know of its resource. ``exact_index`` "" means none.

    ``cached`` False answers as Kubernetes does for resources without a watch cache (events).
    """

    prefix: str
    resource: GroupResource
    read: ReadAttributes
    exact_index: str = ""
    cached: bool = True


@dataclass(frozen=True, slots=True)
class SharedParts:
    """What all caches of a server share."""

    storage: Storage
    clock: Clock
    freshness: Freshness
    timers: TimerQueue
    metrics: WatchCacheMetrics
    buffered_max: int
    deliver: Deliver
    turns: Turns
    recalls: bool  # what happened before a cache began is read from storage if it is asked for


class InitialObjects(list[CachedObject]):
    """Present objects that can match, shared by the watches that start from the same state."""

    __slots__ = ("__weakref__",)


class CacheState:
    """The present, the recent past, and whether both can be trusted. Changed by ``cache`` only."""

    def __init__(self, kind: CacheConfig, clock: Clock, *, recalls: bool = False) -> None:
        self.kind = kind
        self._recalls = recalls
        self.readiness = Readiness(clock)
        self.counts = Counts(kind.resource)
        self.snapshot = Snapshot((), kind.exact_index)
        self.history = self._new_history(0)
        # All present objects are newer than this: what is written later has a later revision.
        self.written_after = 0
        self._initial: WeakValueDictionary[_InitialKey, InitialObjects] = WeakValueDictionary()

    def replace(self, ordered: Sequence[CachedObject], revision: int) -> None:
        """A state that was listed at ``revision``; nothing before it is known."""
        self.snapshot = Snapshot(ordered, self.kind.exact_index)
        self.history = self._new_history(revision, is_from_start=self._recalls)
        self._initial.clear()
        self.written_after = min((obj.revision for obj in ordered), default=revision + 1) - 1

    def forget_past(self, revision: int) -> None:
        """The present is that of ``revision``, and nothing before it is known."""
        self.history = self._new_history(revision)
        self._initial.clear()

    def present(self, selection: Selection, start: str = "") -> Iterator[list[CachedObject]]:
        """Runs of present objects from key ``start`` on that can match, to be filtered."""
        low, high = key_range(selection)
        low, exact = max(low, start), self._pinned(selection)
        if exact is None:
            return self.snapshot.runs(low, high)
        return self.snapshot.runs_with(exact, low, high)

    def initial_objects(self, selection: Selection) -> InitialObjects:
        """All present objects that can match, to be filtered. Not to be changed."""
        key = (self.history.end, key_range(selection), self._pinned(selection))
        found = self._initial.get(key)
        if found is None:
            found = InitialObjects(chain.from_iterable(self.present(selection)))
            self._initial[key] = found
        return found

    def _pinned(self, selection: Selection) -> str | None:
        index = self.kind.exact_index
        return selection.fields.pinned(index) if index else None

    def _new_history(self, revision: int, *, is_from_start: bool = False) -> History:
        window_s = WINDOW_S if self.kind.cached else _UNCACHED_WINDOW_S
        return History(revision, window_s=window_s, is_from_start=is_from_start)

    def __repr__(self) -> str:
        return f"<CacheState of {self.kind.resource}: {self.snapshot!r}, {self.history!r}>"
