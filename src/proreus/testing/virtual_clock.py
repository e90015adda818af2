"""A clock that moves only by ``advance``: tests of minutes run in milliseconds, always the same.

    clock = VirtualClock()
    async with running_server(clock=clock) as server:
        await clock.advance("10m")  # every timer of those minutes has run, in order

At each timer it stops until the event loop has nothing left to do: requests are answered, events
delivered, threads done (``loop_idle``). Nothing here waits for real time.
"""

from __future__ import annotations

import asyncio
import heapq
import itertools
from collections.abc import Callable

from proreus.api.values.duration import parse_duration
from proreus.testing.loop_idle import LoopIdle

_START_S = 1_767_225_600.0  # 2026-01-01T00:00:00Z
_ROUND_MIN_S, _ROUND_MAX_S, _ROUND_S = 5.0, 60.0, 600.0


class VirtualTimer:
    """A callback that waits for its time."""

    __slots__ = ("callback", "due_s", "order")

    def __init__(self, due_s: float, order: int, callback: Callable[[], None]) -> None:
        self.due_s = due_s
        self.order = order
        self.callback: Callable[[], None] | None = callback

    def cancel(self) -> None:
        self.callback = None

    def __lt__(self, other: VirtualTimer) -> bool:
        return (self.due_s, self.order) < (other.due_s, other.order)


class VirtualClock:
    """Implements ``aio.clock.Clock``. ``monotonic`` starts at 0, ``now`` at 2026-01-01 UTC."""

    def __init__(self, start_s: float = _START_S) -> None:
        self._start_s = start_s
        self._elapsed_s = 0.0
        self._timers: list[VirtualTimer] = []
        self._order = itertools.count()

    def now(self) -> float:
        return self._start_s + self._elapsed_s

    def monotonic(self) -> float:
        return self._elapsed_s

    def call_later(self, delay_s: float, callback: Callable[[], None]) -> VirtualTimer:
        timer = VirtualTimer(self._elapsed_s + max(0.0, delay_s), next(self._order), callback)
        heapq.heappush(self._timers, timer)
        return timer

    async def sleep(self, delay_s: float) -> None:
        if delay_s <= 0:
            await asyncio.sleep(0)
            return
        done: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        timer = self.call_later(delay_s, lambda: None if done.done() else done.set_result(None))
        try:
            await done
        finally:
            timer.cancel()

    async def advance(self, duration: float | str) -> None:
        """Move on by so many seconds, or by ``1h30m``, stopping at each timer until the loop is at
        rest. Raises NeverIdle."""
        until_s = self._elapsed_s + seconds(duration)
        await self.settle()
        while await self.step(until_s):
            pass
        self._elapsed_s = until_s
        await self.settle()

    async def step(self, until_s: float) -> bool:
        """To the next timer that is due by ``until_s``, and until the loop is at rest again;
        whether there was one."""
        while self._timers and self._timers[0].due_s <= until_s:
            timer = heapq.heappop(self._timers)
            callback, timer.callback = timer.callback, None
            if callback is not None:
                self._elapsed_s = max(self._elapsed_s, timer.due_s)
                callback()
                await self.settle()
                return True
        return False

    async def settle(self) -> None:
        """Until the loop has nothing left to do at this time."""
        await LoopIdle.of(asyncio.get_running_loop()).wait()

    def set_calendar(self, now: float) -> None:
        """From here on ``now`` counts from another time; durations and timers stay as they are."""
        self._start_s = now - self._elapsed_s

    @property
    def next_due_s(self) -> float | None:
        """When the next timer is due, as ``monotonic`` counts; None if none waits."""
        while self._timers and self._timers[0].callback is None:
            heapq.heappop(self._timers)
        return self._timers[0].due_s if self._timers else None

    @property
    def timer_count(self) -> int:
        return sum(timer.callback is not None for timer in self._timers)

    def __repr__(self) -> str:
        return f"<VirtualClock at {self._elapsed_s:g} s, {self.timer_count} timers>"


class SeldomRounds:
    """The virtual clock of a server whose own rounds come seldom: the renewal of its lease, its
    shares of seats, its look for idle connections. They ``sleep`` between two, no test depends on
    them, and hours of a quiet server are made of nothing else. What it promises to clients
    (timeouts, bookmarks) is timed by ``call_later``."""

    def __init__(self, clock: VirtualClock) -> None:
        self.now = clock.now
        self.monotonic = clock.monotonic
        self.call_later = clock.call_later
        self._clock = clock

    async def sleep(self, delay_s: float) -> None:
        is_round = _ROUND_MIN_S <= delay_s <= _ROUND_MAX_S
        await self._clock.sleep(_ROUND_S if is_round else delay_s)


def seconds(duration: float | str) -> float:
    """Of a number, or of a duration as Kubernetes writes it. Raises ValueError."""
    return parse_duration(duration) if isinstance(duration, str) else float(duration)
