"""Timed callbacks (deadlines and bookmarks of all watchers) behind one timer of the clock.

Cost: O(log n) to enter, nothing per watcher while time passes. Entries given a ``grain_s`` come
due together, so that a thousand bookmarks a minute wake the loop once a second, not a thousand
times.
"""

from __future__ import annotations

import heapq
import itertools
import math
from collections.abc import Callable

from proreus.aio.clock import Clock, Timer


class TimerEntry:
    """One callback to come; ``cancel`` is idempotent."""

    __slots__ = ("callback", "due_s", "order", "timers")

    def __init__(
        self, timers: TimerQueue, due_s: float, order: int, callback: Callable[[], None]
    ) -> None:
        self.timers = timers
        self.due_s = due_s
        self.order = order
        self.callback: Callable[[], None] | None = callback

    def cancel(self) -> None:
        if self.callback is not None:
            self.callback = None
            self.timers.forget_one()

    def __lt__(self, other: TimerEntry) -> bool:
        return (self.due_s, self.order) < (other.due_s, other.order)


class TimerQueue:
    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._entries: list[TimerEntry] = []
        self._order = itertools.count()
        self._cancelled = 0
        self._timer: Timer | None = None
        self._timer_due_s = math.inf

    def at(self, due_s: float, callback: Callable[[], None], *, grain_s: float = 0.0) -> TimerEntry:
        """Call ``callback`` at ``due_s`` of the monotonic clock, at most ``grain_s`` later."""
        if grain_s:
            due_s = math.ceil(due_s / grain_s) * grain_s
        entry = TimerEntry(self, due_s, next(self._order), callback)
        heapq.heappush(self._entries, entry)
        self._set_timer()
        return entry

    def forget_one(self) -> None:
        """An entry was cancelled; the heap is rebuilt when half of it is cancelled."""
        self._cancelled += 1
        if self._cancelled * 2 > len(self._entries):
            self._entries = [entry for entry in self._entries if entry.callback is not None]
            heapq.heapify(self._entries)
            self._cancelled = 0
            self._set_timer()

    def _set_timer(self) -> None:
        due_s = self._entries[0].due_s if self._entries else math.inf
        if self._timer is not None:
            if self._timer_due_s <= due_s and self._entries:
                return
            self._timer.cancel()
            self._timer = None
        if self._entries:
            delay_s = max(0.0, due_s - self._clock.monotonic())
            self._timer = self._clock.call_later(delay_s, self._fire)
            self._timer_due_s = due_s

    def _fire(self) -> None:
        self._timer = None
        now_s = self._clock.monotonic()
        while self._entries and self._entries[0].due_s <= now_s:
            entry = heapq.heappop(self._entries)
            callback, entry.callback = entry.callback, None
            if callback is None:
                self._cancelled -= 1
            else:
                callback()
        self._set_timer()

    def __repr__(self) -> str:
        return f"<TimerQueue of {len(self._entries) - self._cancelled} calls>"
