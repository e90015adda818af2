"""Watchers that are not live yet: initial state, then history, at the pace their sinks take it.

Receives: Subscriber, from ``watcher_phases``.  Hands on: Burst, to its sink.
Invariant: reading the last of history and joining the live feed happen without an await between,
so no change falls in between; a watcher overtaken by history is closed, never skipped.

One round over all of them per turn of the loop, a bounded number of bytes each: a start with a
hundred thousand objects delays no other; for a reader that does not read 64 kB are held, no list.
A round that takes long, as where objects are encoded, ends early, within a watcher too, and the
next one begins with those it did not come to.
"""

from __future__ import annotations

import asyncio
import heapq
import itertools
from collections.abc import Callable
from typing import assert_never

from proreus.aio.clock import Clock, Timer
from proreus.server.watch_cache.history import History, Overtaken
from proreus.server.watch_cache.metrics import WrittenEvents
from proreus.server.watch_cache.phase import (
    Closed,
    Ending,
    Live,
    Parked,
    Phase,
    Replaying,
    Starting,
)
from proreus.server.watch_cache.subscriber import Subscriber, event_for
from proreus.server.watch_cache.view import ADDED, Frame

EVENTS_MAX = 100
BYTES_MAX = 64 * 1024
SCANNED_MAX = 2_000  # objects that are tested, whether they match or not
_ROUND_S = 0.00025
_POLL_FIRST_S = 0.005
_POLL_MAX_S = 0.1


class CatchUp:
    """``move`` changes a watcher's phase; ``drained`` gets one whose sink has room again."""

    def __init__(
        self,
        clock: Clock,
        buffered_max: int,
        written: WrittenEvents,
        move: Callable[[Subscriber, Phase], None],
        drained: Callable[[Subscriber], None],
    ) -> None:
        self._clock = clock
        self._written = written
        self._move = move
        self._room_below = buffered_max // 2
        self._drained = drained
        self._history = History(0)
        self._watchers: dict[Subscriber, None] = {}
        self._parked: list[tuple[int, int, Subscriber]] = []
        self._order = itertools.count()
        self._is_scheduled = False
        self._poll: Timer | None = None
        self._poll_s = _POLL_FIRST_S
        self.initial_events = 0

    @property
    def watchers(self) -> list[Subscriber]:
        parked = [entry[2] for entry in self._parked if not entry[2].is_closed]
        return [*self._watchers, *parked]

    def read_from(self, history: History) -> None:
        """A new history, while no watcher is catching up."""
        self._history = history

    def add(self, subscriber: Subscriber) -> None:
        self._watchers[subscriber] = None
        self._schedule()

    def park(self, subscriber: Subscriber, until: int) -> None:
        heapq.heappush(self._parked, (until, next(self._order), subscriber))

    def leave(self, subscriber: Subscriber) -> None:
        self._watchers.pop(subscriber, None)

    def release_parked(self, revision: int) -> None:
        """A change with this revision is about to be dispatched: the first one some wait for."""
        while self._parked and self._parked[0][0] < revision:
            _, _, subscriber = heapq.heappop(self._parked)
            if not subscriber.is_closed:
                self._move(subscriber, Live())

    def _schedule(self) -> None:
        if not self._is_scheduled:
            self._is_scheduled = True
            asyncio.get_running_loop().call_soon(self._round)

    def _round(self) -> None:
        self._is_scheduled = False
        moved = False
        until_s = self._clock.monotonic() + _ROUND_S
        looked_at: list[Subscriber] = []
        for subscriber in list(self._watchers):
            looked_at.append(subscriber)
            if subscriber.sink.buffered <= self._room_below:
                moved = True
                self._drained(subscriber)
                self._step(subscriber, until_s)
                if self._is_due(until_s):
                    self._put_last(looked_at)
                    break
        if moved:
            self._poll_s = _POLL_FIRST_S
        if not self._watchers:
            return
        if moved:
            self._schedule()
        elif self._poll is None:
            self._poll = self._clock.call_later(self._poll_s, self._look_again)
            self._poll_s = min(self._poll_s * 2, _POLL_MAX_S)

    def _put_last(self, subscribers: list[Subscriber]) -> None:
        for subscriber in subscribers:
            if subscriber in self._watchers:
                del self._watchers[subscriber]
                self._watchers[subscriber] = None

    def _look_again(self) -> None:
        self._poll = None
        self._schedule()

    def _step(self, subscriber: Subscriber, until_s: float) -> None:
        match subscriber.phase:
            case Starting() as starting:
                self._write_initial(subscriber, starting, until_s)
            case Replaying() as replaying:
                self._write_history(subscriber, replaying, until_s)
            case Ending(reason=reason, status=status):
                subscriber.end(reason, status)
            case Parked() | Live() | Closed():
                self.leave(subscriber)
            case other:
                assert_never(other)

    def _write_initial(self, subscriber: Subscriber, starting: Starting, until_s: float) -> None:
        frames: list[Frame] = []
        size, matches = 0, subscriber.matches
        for obj in starting.objects[starting.done : starting.done + SCANNED_MAX]:
            starting.done += 1
            if matches is None or matches(obj):
                frames.append(subscriber.frame(ADDED, obj))
                size += len(frames[-1])
                if size > BYTES_MAX or len(frames) == EVENTS_MAX or self._is_due(until_s):
                    break
        self.initial_events += len(frames)
        if starting.done == len(starting.objects):
            self._move(subscriber, Replaying(starting.position))
            if starting.end_mark is not None:
                frames.append(subscriber.end_mark(starting.end_mark))
        self._write(subscriber, frames)

    def _write_history(self, subscriber: Subscriber, replaying: Replaying, until_s: float) -> None:
        try:
            transitions = self._history.read(replaying.position, EVENTS_MAX)
        except Overtaken:
            subscriber.end("overtaken by history")
            return
        frames: list[Frame] = []
        size = 0
        for transition in transitions:
            replaying.position += 1
            event = event_for(transition, subscriber.matches)
            if event is not None:
                frames.append(subscriber.frame(*event))
                size += len(frames[-1])
                if size > BYTES_MAX or self._is_due(until_s):
                    break
        self._write(subscriber, frames)
        if replaying.position == self._history.end:
            self._move(subscriber, Live())

    def _is_due(self, until_s: float) -> bool:
        return self._clock.monotonic() > until_s

    def _write(self, subscriber: Subscriber, frames: list[Frame]) -> None:
        if frames:
            subscriber.write(frames)
            self._written.add(frames)

    def __repr__(self) -> str:
        return f"<CatchUp of {len(self._watchers)} watchers, {len(self._parked)} parked>"
