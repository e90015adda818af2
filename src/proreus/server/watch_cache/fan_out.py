"""From one change to the watchers it concerns: frames made once, one write per flush and watcher.

Receives: Transition, from ``cache``.  Hands on: Burst, to the sinks of live subscribers.
Invariant: a live subscriber has been written every frame that concerns it up to the last flush, in
order; frames since then wait in its group. No watcher joins or is marked without a flush before.

Watchers with the same selection form an audience, those of it with the same view a group. A change
looks at the audiences that can match: by namespace and name, or by the kind's exact field (pods:
spec.nodeName), under the old and the new value. Cost: 6 lookups, one test per audience found, one
frame per view, and for each watcher one ``sink.write`` per flush.

Groups of few watchers, as kubelets have, are written in the very turn that took the change. For
many there is a flush after it, so that the writer is answered first; and as it takes a while, its
successor waits twice that long, 8 ms at most: under load frames go out together.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from proreus.aio.clock import Timer
from proreus.server.storage.revision_times import RevisionTimes
from proreus.server.watch_cache.history import Transition
from proreus.server.watch_cache.metrics import WrittenEvents
from proreus.server.watch_cache.object import CachedObject
from proreus.server.watch_cache.query import Selection
from proreus.server.watch_cache.selecting import EventScope, Matches, scope_of
from proreus.server.watch_cache.state import SharedParts
from proreus.server.watch_cache.subscriber import Subscriber, event_for
from proreus.server.watch_cache.view import Burst, Frame, Sink, View

Sinks = dict[Subscriber, Sink]
_REST_FROM_S = 0.0005
_REST_MAX_S = 0.008
_MANY = 4  # watchers of a group whose frames wait to go out together
_FLUSHES_KEPT = 256


class ViewGroup:
    """Live watchers that see the same bytes. ``newcomers`` still lack their first event."""

    __slots__ = ("first", "newcomers", "pending", "sent", "settled", "view")

    def __init__(self, view: View) -> None:
        self.view = view
        self.settled: Sinks = {}
        self.newcomers: Sinks = {}
        self.pending: list[Frame] = []
        self.sent = 0  # frames to each of them so far
        self.first: tuple[str, CachedObject] | None = None

    @property
    def is_empty(self) -> bool:
        return not (self.settled or self.newcomers)


class Audience:
    """Live watchers of one selection, by view."""

    __slots__ = ("groups", "matches")

    def __init__(self, matches: Matches | None) -> None:
        self.matches = matches
        self.groups: dict[View, ViewGroup] = {}


Audiences = dict[Selection, Audience]
_NO_AUDIENCES: Audiences = {}


class FanOut:
    """``too_slow`` is called with a watcher whose sink holds more than ``buffered_max`` bytes."""

    def __init__(
        self, shared: SharedParts, exact_index: str, too_slow: Callable[[Subscriber], None]
    ) -> None:
        self._clock = shared.clock
        self._deliver = shared.deliver
        self._freshness = shared.freshness
        self._buffered_max = shared.buffered_max
        self._exact_index = exact_index
        self._too_slow = too_slow
        self._by_scope: dict[EventScope, Audiences] = {}
        self._by_exact: dict[str, Audiences] = {}
        self._dirty: list[ViewGroup] = []
        self._next_flush: Timer | None = None
        self._rests_until_s = 0.0
        self._bookmarks: dict[View, Burst] = {}
        self._bookmarks_revision = -1
        self.watchers: set[Subscriber] = set()
        self.written = WrittenEvents()
        self.flushes = RevisionTimes(_FLUSHES_KEPT)

    def join(self, subscriber: Subscriber) -> None:
        """From now on every change; what is pending in its group is not for it."""
        group = self._group_for(subscriber)
        if group.pending:
            self._flush_group(group)
            # The flush may have found its last watcher too slow: then that group is gone.
            group = self._group_for(subscriber)
        members = group.settled if subscriber.has_received else group.newcomers
        members[subscriber] = subscriber.sink
        subscriber.sent -= group.sent
        self.watchers.add(subscriber)

    def leave(self, subscriber: Subscriber) -> None:
        """Forget a watcher; not an error if it is not here."""
        if subscriber not in self.watchers:
            return
        self.watchers.discard(subscriber)
        selection = subscriber.selection
        bucket = self._bucket(selection)
        audience = bucket[selection]
        group = audience.groups[subscriber.view]
        subscriber.sent += group.sent
        group.settled.pop(subscriber, None)
        group.newcomers.pop(subscriber, None)
        if group.is_empty:
            del audience.groups[subscriber.view]
        if not audience.groups:
            del bucket[selection]
        if not bucket:
            self._drop_bucket(selection)

    def dispatch(self, transition: Transition) -> None:
        """Put a change's frames where they concern watchers; they go out at the end of the turn."""
        frames: dict[tuple[View, str], Frame] = {}
        for audience in self._interested(transition):
            event = event_for(transition, audience.matches)
            if event is None:
                continue
            event_type, obj = event
            transition.has_readers = True
            for view, group in audience.groups.items():
                frame = frames.get((view, event_type))
                if frame is None:
                    frame = frames[view, event_type] = view.event(event_type, obj)
                if not group.pending:
                    self._dirty.append(group)
                    group.first = event
                group.pending.append(frame)

    def end_turn(self) -> None:
        """Write what the changes of this turn left to few watchers; many have a flush to come."""
        if not self._dirty:
            return
        dirty, self._dirty = self._dirty, []
        for group in dirty:
            if len(group.settled) + len(group.newcomers) >= _MANY:
                self._dirty.append(group)
            elif group.pending:
                self._flush_group(group)
        if not self._dirty:
            self.flushes.record(self._freshness.revision, self._clock.monotonic())
        elif self._next_flush is None:
            self._schedule_flush()

    def flush(self) -> None:
        """Write everything pending."""
        if self._next_flush is not None:
            self._next_flush.cancel()
            self._next_flush = None
        if not self._dirty:
            return
        dirty, self._dirty = self._dirty, []
        begun_s = self._clock.monotonic()
        for group in dirty:
            if group.pending:
                self._flush_group(group)
        ended_s = self._clock.monotonic()
        self.flushes.record(self._freshness.revision, ended_s)
        self._rests_until_s = ended_s + rest_s(ended_s - begun_s)

    def _schedule_flush(self) -> None:
        rest_s = self._rests_until_s - self._clock.monotonic()
        if rest_s > 0:
            self._next_flush = self._clock.call_later(rest_s, self.flush)
        else:
            self._next_flush = asyncio.get_running_loop().call_soon(self.flush)

    def frames_sent(self, subscriber: Subscriber) -> int:
        """To one that is live or not."""
        group = self._group(subscriber)
        return subscriber.sent + (group.sent if group is not None else 0)

    def frames_waiting(self, subscriber: Subscriber) -> int:
        """For the next flush."""
        group = self._group(subscriber)
        return len(group.pending) if group is not None else 0

    def _group(self, subscriber: Subscriber) -> ViewGroup | None:
        if subscriber not in self.watchers:
            return None
        return self._bucket(subscriber.selection)[subscriber.selection].groups[subscriber.view]

    def write_bookmark(self, subscriber: Subscriber, revision: int) -> None:
        """Mark for a live watcher that it has been written everything up to ``revision``.

        One that is catching up, or that this very flush finds too slow, gets none.
        """
        self.flush()
        if subscriber not in self.watchers:
            return
        if not subscriber.has_received:
            frame = subscriber.view.first_bookmark(revision, initial_events_end=False)
            self._settle(subscriber)
            burst = Burst((frame,))
        else:
            burst = self._bookmark(subscriber.view, revision)
        subscriber.sink.write(burst)
        subscriber.sent += 1
        self.written.add(burst.frames)

    def _bookmark(self, view: View, revision: int) -> Burst:
        if revision != self._bookmarks_revision:
            self._bookmarks, self._bookmarks_revision = {}, revision
        burst = self._bookmarks.get(view)
        if burst is None:
            frame = view.bookmark(revision, initial_events_end=False)
            burst = self._bookmarks[view] = Burst((frame,))
        return burst

    def _settle(self, subscriber: Subscriber) -> None:
        group = self._group(subscriber)
        assert group is not None, "it is live"
        group.settled[subscriber] = group.newcomers.pop(subscriber)
        subscriber.has_received = True

    def _group_for(self, subscriber: Subscriber) -> ViewGroup:
        audience = self._bucket(subscriber.selection).setdefault(
            subscriber.selection, Audience(subscriber.matches)
        )
        group = audience.groups.get(subscriber.view)
        if group is None:
            group = audience.groups[subscriber.view] = ViewGroup(subscriber.view)
        return group

    def _interested(self, transition: Transition) -> list[Audience]:
        old, new = transition.old, transition.new
        obj = new or old
        assert obj is not None
        found: list[Audience] = []
        if self._by_scope:
            namespace, name = obj.namespace, obj.name
            find = self._by_scope.get
            found += find(_EVERYWHERE, _NO_AUDIENCES).values()
            found += find(EventScope("", name), _NO_AUDIENCES).values()
            if namespace:
                found += find(EventScope(namespace, ""), _NO_AUDIENCES).values()
                found += find(EventScope(namespace, name), _NO_AUDIENCES).values()
        if self._by_exact:
            value = obj.fields.get(self._exact_index, "")
            found += self._by_exact.get(value, _NO_AUDIENCES).values()
            if old is not None and not transition.is_alike:
                before = old.fields.get(self._exact_index, "")
                if before != value:
                    found += self._by_exact.get(before, _NO_AUDIENCES).values()
        return found

    def _flush_group(self, group: ViewGroup) -> None:
        pending, group.pending = group.pending, []
        group.sent += len(pending)
        slow: list[Subscriber] = []
        if group.settled:
            self._write(group.settled, Burst(tuple(pending)), slow)
        if group.newcomers and group.first is not None:
            first = group.view.first_event(*group.first)
            self._write(group.newcomers, Burst((first, *pending[1:])), slow)
            for subscriber in group.newcomers:
                subscriber.has_received = True
            group.settled.update(group.newcomers)
            group.newcomers = {}
        for subscriber in slow:
            self._too_slow(subscriber)

    def _write(self, watchers: Sinks, burst: Burst, slow: list[Subscriber]) -> None:
        if self._deliver(watchers.values(), burst):
            limit = self._buffered_max
            slow += [subscriber for subscriber, sink in watchers.items() if sink.buffered > limit]
        self.written.add(burst.frames, len(watchers))

    def _bucket(self, selection: Selection) -> Audiences:
        exact = self._exact_value(selection)
        if exact is not None:
            return self._by_exact.setdefault(exact, {})
        return self._by_scope.setdefault(scope_of(selection), {})

    def _drop_bucket(self, selection: Selection) -> None:
        exact = self._exact_value(selection)
        if exact is not None:
            del self._by_exact[exact]
        else:
            del self._by_scope[scope_of(selection)]

    def _exact_value(self, selection: Selection) -> str | None:
        return selection.fields.pinned(self._exact_index) if self._exact_index else None

    def __repr__(self) -> str:
        audiences = sum(map(len, self._by_scope.values())) + sum(map(len, self._by_exact.values()))
        return f"<FanOut to {len(self.watchers)} live watchers in {audiences} audiences>"


def rest_s(took_s: float) -> float:
    """How long the next flush waits after one that took so long."""
    return min(2 * took_s, _REST_MAX_S) if took_s > _REST_FROM_S else 0.0


_EVERYWHERE = EventScope("", "")
