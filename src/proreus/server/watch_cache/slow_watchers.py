"""Watchers whose readers do not keep up: a shared time budget, then the watch is closed.

Receives: Subscriber, from ``fan_out``.  Promise: isolated.
A slow watcher delays no other, since its frames are not queued here: it is taken out of the live
feed and reads history again once its buffer has emptied. If the buffer does not empty within the
time that is left in the shared budget, its stream is ended, without an error event: the client
resumes from the last revision it saw (server.md §4.10).
"""

from __future__ import annotations

from proreus.aio.clock import Clock, Timer
from proreus.server.watch_cache.subscriber import Subscriber

REFILL_PER_S = 0.05
BUDGET_MAX_S = 0.1
# A spent budget must not end a watch whose reader only had one bad turn of the loop.
GRACE_MIN_S = 0.01


class TimeBudget:
    """Gains 50 ms per second up to 100 ms; falls with real time while it is being spent."""

    def __init__(self, now_s: float) -> None:
        self._left_s = BUDGET_MAX_S
        self._counted_at_s = now_s
        self._is_spent = False

    def left_s(self, now_s: float) -> float:
        elapsed_s, self._counted_at_s = now_s - self._counted_at_s, now_s
        change_s = -elapsed_s if self._is_spent else elapsed_s * REFILL_PER_S
        self._left_s = min(BUDGET_MAX_S, max(0.0, self._left_s + change_s))
        return self._left_s

    def spend(self, now_s: float, *, is_spent: bool) -> None:
        self.left_s(now_s)
        self._is_spent = is_spent


class SlowWatchers:
    def __init__(self, clock: Clock, buffered_max: int) -> None:
        self._clock = clock
        self._buffered_max = buffered_max
        self._budget = TimeBudget(clock.monotonic())
        self._until_s: dict[Subscriber, float] = {}
        self._timer: Timer | None = None
        self.terminated = 0

    def add(self, subscriber: Subscriber) -> None:
        now_s = self._clock.monotonic()
        self._until_s[subscriber] = now_s + max(GRACE_MIN_S, self._budget.left_s(now_s))
        self._budget.spend(now_s, is_spent=True)
        self._set_timer(now_s)

    def discard(self, subscriber: Subscriber) -> None:
        """Its buffer has emptied, or it is closed."""
        if self._until_s.pop(subscriber, None) is not None and not self._until_s:
            self._rest()

    def _set_timer(self, now_s: float) -> None:
        if self._timer is None:
            delay_s = min(self._until_s.values()) - now_s
            self._timer = self._clock.call_later(max(0.0, delay_s), self._expire)

    def _expire(self) -> None:
        self._timer = None
        now_s = self._clock.monotonic()
        for subscriber in [s for s, until_s in self._until_s.items() if until_s <= now_s]:
            self._until_s.pop(subscriber, None)
            if subscriber.sink.buffered > self._buffered_max // 2:
                self.terminated += 1
                subscriber.end("too slow")
        if self._until_s:
            self._set_timer(now_s)
        else:
            self._rest()

    def _rest(self) -> None:
        self._budget.spend(self._clock.monotonic(), is_spent=False)
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def __repr__(self) -> str:
        return f"<SlowWatchers: {len(self._until_s)} late, {self.terminated} ended so far>"
