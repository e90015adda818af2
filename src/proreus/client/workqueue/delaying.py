"""A work queue that also takes items for later: at most one waiting time per item, the earliest.

An immediate ``add`` does not cancel a waiting entry: the item is then worked on now and once more
at that time, because the condition that the later run waits for may not hold yet.
Cost: O(log waiting) per ``add_after``; one timer for the whole queue.
"""

from __future__ import annotations

import heapq
import itertools

from proreus.aio.clock import Clock, Timer
from proreus.client.workqueue.queue import T, WorkQueue

# Sums of floats are off by less than this; a timer armed for the rest would spin.
_RESOLUTION_S = 1e-4


class DelayingQueue(WorkQueue[T]):
    """``add_after`` beside ``add``. Waiting items are lost at shutdown: they were not due."""

    def __init__(self, name: str = "", *, clock: Clock | None = None) -> None:
        super().__init__(name, clock=clock)
        self._heap: list[tuple[float, int, T]] = []  # may hold entries that an earlier one replaced
        self._due: dict[T, float] = {}  # item → the time that counts
        self._order = itertools.count()
        self._timer: Timer | None = None

    @property
    def waiting_count(self) -> int:
        """How many items wait for their time."""
        return len(self._due)

    def add_after(self, item: T, delay_s: float) -> None:
        """Add ``item`` once ``delay_s`` has passed; now, if that is not positive."""
        if self._shutting_down:
            return
        self._retries += 1
        if delay_s <= 0:
            self.add(item)
            return
        due = self._clock.monotonic() + delay_s
        if item in self._due and self._due[item] <= due:
            return
        self._due[item] = due
        heapq.heappush(self._heap, (due, next(self._order), item))
        if self._heap[0][0] == due:
            self._arm()

    def shut_down(self) -> None:
        super().shut_down()
        self._heap.clear()
        self._due.clear()
        self._disarm()

    def _arm(self) -> None:
        self._disarm()
        if self._heap:
            delay_s = max(0.0, self._heap[0][0] - self._clock.monotonic())
            self._timer = self._clock.call_later(delay_s, self._release_due)

    def _disarm(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _release_due(self) -> None:
        now = self._clock.monotonic() + _RESOLUTION_S
        while self._heap and self._heap[0][0] <= now:
            due, _, item = heapq.heappop(self._heap)
            if self._due.get(item) == due:
                del self._due[item]
                self.add(item)
        self._arm()
