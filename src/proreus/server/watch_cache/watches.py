"""Starting, bookmarking and ending watches (server.md §2.8, §4.11 to §4.14).

Invariant: the state a watch starts from and its place in the feed of changes are fixed without an
await between them. Waiting for freshness comes before, writing comes after.
"""

from __future__ import annotations

from typing import assert_never

from proreus.api.status import ApiError, Expired, InternalError, ResourceVersionTooLarge
from proreus.server.storage.interface import StorageError
from proreus.server.watch_cache.phase import Ending, Parked, Phase, Replaying, Starting
from proreus.server.watch_cache.query import AnyState, Latest, NotOlderThan, WatchQuery
from proreus.server.watch_cache.recall import Recall
from proreus.server.watch_cache.state import CacheState, SharedParts
from proreus.server.watch_cache.subscriber import Subscriber
from proreus.server.watch_cache.view import Sink, View
from proreus.server.watch_cache.watcher_phases import WatcherPhases

BOOKMARK_EVERY_S = 60.0
BOOKMARK_BEFORE_DEADLINE_S = 2.0
BOOKMARK_GRAIN_S = 1.0


class Watches:
    def __init__(
        self, state: CacheState, shared: SharedParts, phases: WatcherPhases, recall: Recall
    ) -> None:
        self._state = state
        self._storage = shared.storage
        self._clock = shared.clock
        self._freshness = shared.freshness
        self._timers = shared.timers
        self._phases = phases
        self._recall = recall

    async def start(self, query: WatchQuery, view: View, sink: Sink) -> Subscriber:
        self._state.readiness.check()
        generation = self._state.readiness.generation
        began_s = self._clock.monotonic()
        phase: Phase
        floor = 0
        try:
            fresh_at = await self._wait_until_fresh(query)
            if fresh_at and (query.after is not None or not query.send_initial):
                await self._recall.reach(fresh_at)
        except ApiError as error:
            phase = Ending("not fresh enough", error.status)
        except StorageError as error:
            phase = Ending("storage failed", InternalError.of(str(error)).status)
        else:
            # From here to the end there is no await.
            if generation != self._state.readiness.generation or not self._state.readiness.is_ready:
                phase = Ending("reloaded meanwhile")
            else:
                phase, floor = self._first_phase(query, fresh_at)
        subscriber = Subscriber(
            query.selection, view, sink, phase, floor=floor, bookmarks=query.bookmarks
        )
        self._register(subscriber, query, began_s)
        return subscriber

    async def _wait_until_fresh(self, query: WatchQuery) -> int:
        """The revision to start after or from, 0 for none in particular."""
        if query.after is not None:
            return query.after
        if not self._state.kind.cached and query.send_initial:
            return await self._wait_until_current(query)
        match query.state:
            case Latest():
                revision = await self._storage.current_revision()
            case AnyState():
                revision = 0
            case NotOlderThan(revision=revision):
                pass
            case other:
                assert_never(other)
        if query.send_initial:
            await self._freshness.wait_for(revision)
        return revision

    async def _wait_until_current(self, query: WatchQuery) -> int:
        """Kubernetes reads the state of an uncached resource from storage: the newest, or none."""
        revision = await self._storage.current_revision()
        if isinstance(query.state, NotOlderThan) and query.state.revision > revision:
            raise ResourceVersionTooLarge.of(query.state.revision, revision, retry_after_s=1)
        await self._freshness.wait_for(revision)
        return revision

    def _first_phase(self, query: WatchQuery, revision: int) -> tuple[Phase, int]:
        """With the floor of the watch."""
        history, current = self._state.history, self._freshness.revision
        if query.after is None and query.send_initial:
            wants_mark = query.bookmarks and query.initial_events_end
            objects = self._state.initial_objects(query.selection)
            end_mark = current if wants_mark else None
            return Starting(objects, history.end, end_mark=end_mark), current
        floor = revision or current
        if floor > current:
            return Parked(floor), floor
        try:
            return Replaying(history.position_after(floor)), floor
        except Expired as expired:
            if self._state.kind.cached:
                return Ending("too old", expired.status), floor
            text = "The resourceVersion for the provided watch is too old."
            return Ending("too old", Expired(text).status), floor

    def _register(self, subscriber: Subscriber, query: WatchQuery, began_s: float) -> None:
        # What is ending anyway keeps its last word, however long it waited to be fresh enough.
        if query.timeout_s is not None and not isinstance(subscriber.phase, Ending):
            subscriber.deadline_s = began_s + query.timeout_s
            entry = self._timers.at(subscriber.deadline_s, lambda: subscriber.end("deadline"))
            subscriber.when_closed(entry.cancel)
        self._phases.add(subscriber)
        if subscriber.bookmarks and self._state.kind.cached:
            subscriber.when_closed(lambda: _cancel_bookmark(subscriber))
            self._schedule_bookmark(subscriber)

    def _schedule_bookmark(self, subscriber: Subscriber) -> None:
        due_s = next_bookmark_s(self._clock.monotonic(), subscriber.deadline_s)
        if due_s is not None:
            subscriber.next_bookmark = self._timers.at(
                due_s, lambda: self._bookmark(subscriber), grain_s=BOOKMARK_GRAIN_S
            )

    def close_all(self, reason: str) -> None:
        """With a last bookmark: whoever resumes elsewhere then misses as little as can be, and a
        client does not take a watch that just began for one that failed: it was not empty."""
        revision = self._freshness.revision
        for subscriber in self._phases.subscribers:
            is_behind = revision < subscriber.floor
            if subscriber.bookmarks and self._state.kind.cached and not is_behind:
                self._phases.fan_out.write_bookmark(subscriber, revision)
            subscriber.end(reason)

    def _bookmark(self, subscriber: Subscriber) -> None:
        revision = self._freshness.revision
        if revision > subscriber.floor:
            self._phases.fan_out.write_bookmark(subscriber, revision)
        if not subscriber.is_closed:
            self._schedule_bookmark(subscriber)


def _cancel_bookmark(subscriber: Subscriber) -> None:
    if subscriber.next_bookmark is not None:
        subscriber.next_bookmark.cancel()


def next_bookmark_s(now_s: float, deadline_s: float | None) -> float | None:
    """A minute from now, or just before the deadline so that a resumed watch loses little."""
    due_s = now_s + BOOKMARK_EVERY_S
    if deadline_s is not None:
        due_s = min(due_s, deadline_s - BOOKMARK_BEFORE_DEADLINE_S)
    return due_s if due_s > now_s else None
