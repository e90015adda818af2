"""Keys that need work, each at most once, each with at most one worker at a time.

Receives: keys, from ``controller.sources``.  Hands on: one key to one worker, to ``controller``.
Invariant: every queued item is dirty and not in work; an item in work that is added again is queued
exactly once more, when it is done. So the queue never holds more than the distinct keys, which is
its bound, beside one stale entry per key and priority where a key got a higher one.
Cost: add, get and done together take about 2 µs.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Hashable
from typing import Generic, TypeVar

from proreus.aio.clock import Clock, SystemClock
from proreus.aio.waiters import wake_first
from proreus.client.workqueue.statistics import DurationHistogram, QueueStatistics

T = TypeVar("T", bound=Hashable)


class QueueShutDown(Exception):
    """No more work comes: the queue is shut down and empty."""


class WorkQueue(Generic[T]):
    """Fair (first come, first served), stingy (no item twice at once), any number of workers.

    Items of a higher priority go before all of a lower one, however long those wait; 0 is usual.

    A worker's loop: ``item = await queue.get()``, work, ``queue.done(item)``, always. One event
    loop; not for several threads.
    """

    def __init__(self, name: str = "", *, clock: Clock | None = None) -> None:
        self.name = name
        self._clock = clock or SystemClock()
        self._monotonic = self._clock.monotonic
        self._queue: deque[T] = deque()  # those of priority 0
        self._lanes: dict[int, deque[T]] = {}  # other priorities, none empty
        self._priorities: dict[T, int] = {}  # of dirty items, where it is not 0
        self._waiting = 0
        self._stale = 0  # entries left behind in a lane by an item that got a higher priority
        self._dirty: dict[T, float] = {}  # item → when it was first added
        self._in_work: dict[T, float] = {}  # item → when a worker took it
        self._workers_waiting: deque[asyncio.Future[None]] = deque()
        self._idle_waiting: list[asyncio.Future[None]] = []
        self._shutting_down = False
        self._adds = 0
        self._retries = 0
        self._queue_duration = DurationHistogram()
        self._work_duration = DurationHistogram()

    def __len__(self) -> int:
        """How many items wait for a worker."""
        return self._waiting

    @property
    def in_work_count(self) -> int:
        """How many items workers have."""
        return len(self._in_work)

    @property
    def is_shutting_down(self) -> bool:
        return self._shutting_down

    @property
    def is_idle(self) -> bool:
        """Nothing waits and nothing is in work."""
        return not self._waiting and not self._in_work

    def add(self, item: T, *, priority: int = 0) -> None:
        """Mark ``item`` as needing work. While it already waits only a higher priority counts;
        ignored after shutdown."""
        if self._shutting_down:
            return
        if item in self._dirty:
            if priority > self._priorities.get(item, 0):
                self._raise(item, priority)
            return
        self._adds += 1
        self._dirty[item] = self._monotonic()
        if priority:
            self._priorities[item] = priority
        if item not in self._in_work:
            self._push(item)

    async def get(self) -> T:
        """The next item, which the caller must hand back with ``done``. Raises QueueShutDown."""
        while not self._waiting:
            if self._shutting_down:
                raise QueueShutDown
            await self._wait_work()
        item = self._queue.popleft() if not self._lanes and not self._stale else self._pop()
        self._waiting -= 1
        now = self._monotonic()
        self._queue_duration.observe(now - self._dirty.pop(item))
        self._in_work[item] = now
        return item

    def done(self, item: T) -> None:
        """The work on ``item`` has ended, well or not; if it was added meanwhile it waits again."""
        self._work_duration.observe(self._monotonic() - self._in_work.pop(item))
        if item in self._dirty:
            self._push(item)
        elif self._idle_waiting and self.is_idle:
            self._wake_idle()

    def shut_down(self) -> None:
        """Ignore further adds; workers finish what waits, then get QueueShutDown. Idempotent."""
        self._shutting_down = True
        while self._workers_waiting:
            wake_first(self._workers_waiting)

    async def drain(self) -> None:
        """Shut down and wait until all that waits has been worked on. The caller sets a deadline;
        without workers it would wait for ever."""
        self.shut_down()
        await self.wait_idle()

    async def wait_idle(self) -> None:
        """Wait until nothing waits and nothing is in work."""
        while not self.is_idle:
            idle: asyncio.Future[None] = asyncio.get_running_loop().create_future()
            self._idle_waiting.append(idle)
            await idle

    def statistics(self) -> QueueStatistics:
        now = self._monotonic()
        ages = [now - since for since in self._in_work.values()]
        return QueueStatistics(
            name=self.name,
            depth=self._waiting,
            adds_total=self._adds,
            retries_total=self._retries,
            queue_duration=self._queue_duration.snapshot(),
            work_duration=self._work_duration.snapshot(),
            unfinished_work_s=sum(ages),
            longest_running_s=max(ages, default=0.0),
        )

    def _push(self, item: T) -> None:
        self._waiting += 1
        self._append(item)
        if self._workers_waiting:
            wake_first(self._workers_waiting)

    def _append(self, item: T) -> None:
        priority = self._priorities.get(item, 0) if self._priorities else 0
        (self._lanes.setdefault(priority, deque()) if priority else self._queue).append(item)

    def _raise(self, item: T, priority: int) -> None:
        if priority:
            self._priorities[item] = priority
        else:
            del self._priorities[item]
        if item not in self._in_work:
            self._stale += 1  # its entry in the lower lane
            self._append(item)

    def _pop(self) -> T:
        """The first of the highest lane, skipping entries whose item has left or was raised."""
        while True:
            priority = max(self._lanes, default=0)
            if priority <= 0 and self._queue:
                priority, lane = 0, self._queue
            else:
                lane = self._lanes[priority]
            item = lane.popleft()
            if priority and not lane:
                del self._lanes[priority]
            is_queued = item in self._dirty and item not in self._in_work
            if is_queued and self._priorities.get(item, 0) == priority:
                self._priorities.pop(item, None)
                return item
            self._stale -= 1

    async def _wait_work(self) -> None:
        work: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._workers_waiting.append(work)
        try:
            await work
        except asyncio.CancelledError:
            # The wake-up given to a cancelled worker goes to the next in line.
            if work.done() and not work.cancelled() and self._waiting:
                wake_first(self._workers_waiting)
            raise

    def _wake_idle(self) -> None:
        waiting, self._idle_waiting = self._idle_waiting, []
        for idle in waiting:
            if not idle.done():
                idle.set_result(None)

    def __repr__(self) -> str:
        state = "shutting down" if self._shutting_down else "open"
        name = f" {self.name}" if self.name else ""
        waiting, in_work = self._waiting, len(self._in_work)
        return f"<{type(self).__name__}{name} {state}, {waiting} waiting, {in_work} in work>"
