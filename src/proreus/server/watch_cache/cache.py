"""One resource's present and recent past (Kubernetes: Cacher): get, list and watch.

Receives: Change, from ``ingest``.  Hands on: Listing to callers, Burst to the watchers' sinks.
The story of a change: ``apply`` makes the new state's CachedObject, puts it into the snapshot and
the history, and dispatches it to the live watchers, all without an await: a reader sees all of
it or nothing. ``freshness`` then lets readers that waited for its revision go on.

The rules that make watches ordered, unique and reliable are written down in DESIGN.md.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Protocol

from proreus.server.storage.interface import Change, StoredValue
from proreus.server.watch_cache.from_storage import FromStorage
from proreus.server.watch_cache.history import Transition
from proreus.server.watch_cache.inspection import (
    CacheInspection,
    ChangeInspection,
    WatcherInspection,
    inspect_cache,
    inspect_watcher,
    recent_changes,
)
from proreus.server.watch_cache.lists import Lists
from proreus.server.watch_cache.metrics import CacheReading
from proreus.server.watch_cache.object import CachedObject, ObjectReader
from proreus.server.watch_cache.query import ListQuery, ListResult, WatchQuery
from proreus.server.watch_cache.recall import Recall
from proreus.server.watch_cache.state import CacheConfig, CacheState, SharedParts
from proreus.server.watch_cache.subscriber import Subscriber
from proreus.server.watch_cache.view import Sink, View
from proreus.server.watch_cache.watcher_phases import WatcherPhases
from proreus.server.watch_cache.watches import Watches


class Follower(Protocol):
    """Part of the server that mirrors a cache, in the same turn. Never waits, never raises."""

    def loaded(self, objects: Sequence[CachedObject]) -> None: ...

    def put(self, found: CachedObject) -> None: ...

    def removed(self, found: CachedObject) -> None: ...


class WatchCache:
    """Made by ``WatchCaches.add``. ``begin_load``, ``load``, ``apply``, ``stop``: ingest only."""

    def __init__(self, kind: CacheConfig, shared: SharedParts) -> None:
        self.kind = kind
        self._shared = shared
        self._reader = ObjectReader(kind.prefix, kind.read)
        self._state = CacheState(kind, shared.clock, recalls=shared.recalls)
        self._phases = WatcherPhases(self._state, shared)
        self._fan_out, self._catch_up = self._phases.fan_out, self._phases.catch_up
        self._lists = Lists(
            self._state, shared, FromStorage(shared.storage, self._reader, shared.turns)
        )
        recall = Recall(self._state, shared, self._reader)
        self._watches = Watches(self._state, shared, self._phases, recall)
        self._followers: tuple[Follower, ...] = ()

    @property
    def is_ready(self) -> bool:
        return self._state.readiness.is_ready

    @property
    def revision(self) -> int:
        """Every change up to this one is in the snapshot and has been dispatched."""
        return self._shared.freshness.revision

    @property
    def complete_after(self) -> int:
        """The oldest revision a watch can start from."""
        return self._state.history.complete_after

    @property
    def subscribers(self) -> list[Subscriber]:
        return self._phases.subscribers

    async def wait_ready(self) -> None:
        """Wait until the cache is filled; the caller sets the deadline."""
        await self._state.readiness.wait_ready()

    def peek(self, key: str) -> CachedObject | None:
        """What is at hand, however stale; None if absent or not ready."""
        state = self._state
        return state.snapshot.get(key) if state.readiness.is_ready else None

    def count(self) -> int:
        """Objects at hand."""
        return len(self._state.snapshot)

    def peek_all(self, namespace: str = "") -> list[CachedObject] | None:
        """All of a namespace (or of all) that is at hand, in key order; None if not ready."""
        state = self._state
        return state.snapshot.everything_in(namespace) if state.readiness.is_ready else None

    async def get(self, key: str, *, at_least: int = 0) -> CachedObject | None:
        """One object from a state not older than ``at_least``; from storage while not ready.

        Raises ResourceVersionTooLarge if that revision is not reached in time.
        """
        return await self._lists.get(key, at_least)

    async def confirmed(self, key: str) -> CachedObject | None:
        """The newest state of an object, if it is here; None: only storage can tell.

        Storage is asked for its revision alone, which many readers learn at once. A cache that is
        behind, even by one write, is not waited for. Raises StorageError.
        """
        shared = self._shared
        newest = await shared.storage.current_revision()
        found = self.peek(key) if newest <= shared.freshness.revision else None
        return found if found is not None and self._reader.is_readable(found) else None

    async def list(self, query: ListQuery) -> ListResult:
        """Objects in key order.

        Raises TooManyRequests while not ready, ResourceVersionTooLarge, and Expired only if an
        exact state is gone: with a continue token that is the token's expiry. Storage's
        Unavailable passes through.
        """
        return await self._lists.list(query)

    async def watch(self, query: WatchQuery, view: View, sink: Sink) -> Subscriber:
        """Start a watch. Nothing is written to the sink before this has returned.

        Raises TooManyRequests while not ready; every other failure is an ERROR event.
        """
        return await self._watches.start(query, view, sink)

    def is_before(self, revision: int) -> bool:
        """Whether a read at ``revision`` would have to ``wait_for`` it."""
        return revision > self.revision and self.is_ready and self.kind.cached

    async def wait_for(self, revision: int) -> None:
        """Raises ResourceVersionTooLarge if ``revision`` is not reached in time."""
        await self._lists.wait_for(revision)

    def follow(self, follower: Follower) -> None:
        """Called for every load and change from now on, in revision order; before the first one."""
        self._followers += (follower,)

    def read(self, stored: StoredValue) -> CachedObject:
        """A stored value as this cache would keep it."""
        return self._reader.read(stored)

    def is_readable(self, found: CachedObject) -> bool:
        """Whether ``found`` is what was stored; if not, it says only which object it stands for."""
        return self._reader.is_readable(found)

    def close_watchers(self, reason: str) -> None:
        """Each is told how far it was, if it allows bookmarks."""
        self._watches.close_all(reason)

    def begin_load(self, error: str = "") -> None:
        """Not ready from here on: every watcher is closed before a new list is visible."""
        self._state.readiness.set_pending(error)
        self._phases.close_all("reloading")

    def load(self, ordered: Sequence[CachedObject], revision: int) -> None:
        """Replace everything by a list read at ``revision``, in key order."""
        self._phases.close_all("reloading")
        self._state.replace(ordered, revision)
        for follower in self._followers:
            follower.loaded(ordered)
        self._catch_up.read_from(self._state.history)
        self._state.counts.initializations += 1
        self._state.readiness.set_ready()

    def apply(self, change: Change) -> None:
        """One critical section: no await from the first line to the last."""
        state = self._state
        new = None if change.new is None else self._reader.read(change.new)
        key = new.key if new is not None else change.key[len(self.kind.prefix) :]
        old = state.snapshot.remove(key) if new is None else state.snapshot.put(new)
        assert old is not None or new is not None, f"{key}: deleted twice"
        is_alike = (
            old is not None
            and new is not None
            and old.labels is new.labels
            and old.fields == new.fields
        )
        now_s = self._shared.clock.monotonic()
        transition = Transition(change.revision, key, old, new, now_s, is_alike)
        state.history.append(transition)
        state.counts.received += 1
        for follower in self._followers:
            if new is not None:
                follower.put(new)
            elif old is not None:
                follower.removed(old)
        self._catch_up.release_parked(change.revision)
        self._fan_out.dispatch(transition)

    def end_turn(self) -> None:
        """What was applied in this turn of the loop goes to the watchers."""
        self._fan_out.end_turn()

    def set_back(self, changed: Mapping[str, StoredValue | None], revision: int) -> None:
        """The state of ``revision`` again, in which the keys of storage in ``changed`` had these
        values. Watchers end; nothing before ``revision`` is known any more."""
        self._phases.close_all("set back")
        snapshot = self._state.snapshot
        for key, value in changed.items():
            if value is not None:
                found = self._reader.read(value)
                snapshot.put(found)
                for follower in self._followers:
                    follower.put(found)
            elif (gone := snapshot.remove(key[len(self.kind.prefix) :])) is not None:
                for follower in self._followers:
                    follower.removed(gone)
        self._state.forget_past(revision)
        self._catch_up.read_from(self._state.history)
        self._state.readiness.set_ready()

    def forget_past(self) -> None:
        """Watches can begin no earlier than now; one that is still catching up is closed."""
        self._state.history.forget(self.revision)

    def stop(self) -> None:
        """The resource is gone: watchers end without an error."""
        self._state.readiness.set_stopped()
        self._phases.close_all("resource removed")
        self._state.replace((), self.revision)

    def reading(self) -> CacheReading:
        return CacheReading(
            counts=self._state.counts,
            unreadable=self._reader.unreadable,
            dispatched=self._state.counts.received,
            initial_events=self._catch_up.initial_events,
            written=self._fan_out.written,
            terminated=self._phases.slow.terminated,
            capacity=self._state.history.capacity,
            revision=self.revision,
            objects=self.count(),
            watchers=len(self.subscribers),
        )

    def inspect(self) -> CacheInspection:
        return inspect_cache(self._state, self._shared.clock.monotonic())

    def inspect_watcher(self, subscriber: Subscriber) -> WatcherInspection:
        return inspect_watcher(self._state, self._fan_out, subscriber, self.revision)

    def recent_changes(self) -> Iterator[ChangeInspection]:
        """Newest first, and each as it is when it is taken."""
        return recent_changes(self._state, self._fan_out)

    def __repr__(self) -> str:
        state = self._state
        return (
            f"<WatchCache of {self.kind.resource} at {self.revision}: {len(state.snapshot)} "
            f"objects, {len(state.history)} changes kept, {len(self.subscribers)} watchers, "
            f"{'ready' if self.is_ready else 'not ready'}>"
        )
