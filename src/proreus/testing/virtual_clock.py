"""A clock that moves only by ``advance``: tests of minutes run in milliseconds, always the same.

    clock = VirtualClock()
    async with running_server(clock=clock) as server:
        await clock.advance(60)  # every timer of that minute has run, in order

Nothing here waits for real time. Work that leaves the event loop (threads, sockets) is not seen by
``settle``; wait for its result instead.
"""

from __future__ import annotations

import asyncio
import heapq
import itertools
from collections.abc import Callable

_START_S = 1_767_225_600.0  # 2026-01-01T00:00:00Z
_SETTLE_TURNS = 50


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

    async def advance(self, seconds: float) -> None:
        """Move on by ``seconds``, stopping at each timer to let the loop settle."""
        until_s = self._elapsed_s + seconds
        await self.settle()
        while (timer := self._next_due(until_s)) is not None:
            self._elapsed_s = max(self._elapsed_s, timer.due_s)
            callback, timer.callback = timer.callback, None
            if callback is not None:
                callback()
                await self.settle()
        self._elapsed_s = until_s
        await self.settle()

    async def settle(self, turns: int = _SETTLE_TURNS) -> None:
        """Let tasks that can run do so, for at most ``turns`` turns of the loop."""
        for _ in range(turns):
            await asyncio.sleep(0)

    @property
    def timer_count(self) -> int:
        return sum(timer.callback is not None for timer in self._timers)

    def _next_due(self, until_s: float) -> VirtualTimer | None:
        if self._timers and self._timers[0].due_s <= until_s:
            return heapq.heappop(self._timers)
        return None

    def __repr__(self) -> str:
        return f"<VirtualClock at {self._elapsed_s:g} s, {self.timer_count} timers>"
