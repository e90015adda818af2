"""The watchers of one cache by phase, and the one place where a watcher moves between phases.

Receives: Subscriber, from ``watches`` when it starts, from ``catch_up`` when it has read all of
history, from ``fan_out`` when its reader does not keep up.
Invariant: a watcher is registered with ``fan_out`` while it is Live, with ``catch_up`` before, and
with neither once it is Closed.
"""

from __future__ import annotations

from typing import assert_never

from proreus.server.watch_cache.catch_up import CatchUp
from proreus.server.watch_cache.fan_out import FanOut
from proreus.server.watch_cache.phase import (
    Closed,
    Ending,
    Live,
    Parked,
    Phase,
    Replaying,
    Starting,
)
from proreus.server.watch_cache.slow_watchers import SlowWatchers
from proreus.server.watch_cache.state import CacheState, SharedParts
from proreus.server.watch_cache.subscriber import Subscriber


class WatcherPhases:
    def __init__(self, state: CacheState, shared: SharedParts) -> None:
        self._state = state
        self.slow = SlowWatchers(shared.clock, shared.buffered_max)
        self.fan_out = FanOut(shared, state.kind.exact_index, self._fall_behind)
        self.catch_up = CatchUp(
            shared.clock, shared.buffered_max, self.fan_out.written, self.move, self.slow.discard
        )

    @property
    def subscribers(self) -> list[Subscriber]:
        return [*self.fan_out.watchers, *self.catch_up.watchers]

    def add(self, subscriber: Subscriber) -> None:
        """Register a new watcher; one with nothing to catch up on is live at once."""
        subscriber.when_closed(lambda: self._register(subscriber))
        phase = subscriber.phase
        if isinstance(phase, Replaying) and phase.position == self._state.history.end:
            self.move(subscriber, Live())
        else:
            self._register(subscriber)

    def move(self, subscriber: Subscriber, to: Phase) -> None:
        subscriber.enter(to)
        self._register(subscriber)

    def close_all(self, reason: str) -> None:
        self.fan_out.flush()
        for subscriber in self.subscribers:
            subscriber.end(reason)

    def _fall_behind(self, subscriber: Subscriber) -> None:
        """From the live feed back to reading history, where nothing is queued for it."""
        if not subscriber.is_closed:
            self.move(subscriber, Replaying(self._state.history.end))
            self.slow.add(subscriber)

    def _register(self, subscriber: Subscriber) -> None:
        """Let the part that serves the watcher's phase have it, and the others forget it."""
        match subscriber.phase:
            case Starting() | Ending():
                self.catch_up.add(subscriber)
            case Parked(until=until):
                self.catch_up.park(subscriber, until)
            case Replaying():
                self.fan_out.leave(subscriber)
                self.catch_up.add(subscriber)
            case Live():
                self.catch_up.leave(subscriber)
                self.fan_out.join(subscriber)
            case Closed():
                self.fan_out.leave(subscriber)
                self.catch_up.leave(subscriber)
                self.slow.discard(subscriber)
            case other:
                assert_never(other)

    def __repr__(self) -> str:
        return f"<WatcherPhases: {self.fan_out!r}, {self.catch_up!r}, {self.slow!r}>"
