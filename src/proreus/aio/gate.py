"""Wait until a condition holds: ready, synced, revision reached."""

from __future__ import annotations

import asyncio
import heapq
import itertools

_SWEPT_MIN = 64


class Gate:
    """Open or shut; ``wait_open`` returns while it is open. Costs nothing per passer-by."""

    def __init__(self, *, is_open: bool = False) -> None:
        self._event = asyncio.Event()
        if is_open:
            self._event.set()

    @property
    def is_open(self) -> bool:
        return self._event.is_set()

    def open(self) -> None:
        self._event.set()

    def shut(self) -> None:
        self._event.clear()

    async def wait_open(self) -> None:
        await self._event.wait()

    def __repr__(self) -> str:
        return f"<Gate {'open' if self.is_open else 'shut'}>"


class Waterline:
    """A number that only rises, and those who wait for it to reach theirs.

    ``rise_to`` costs O(waiters it frees); waiters for higher numbers are not touched. Those who
    gave up are forgotten in passing, when there are as many of them as of the others.
    """

    def __init__(self, level: int = 0) -> None:
        self._level = level
        self._waiting: list[tuple[int, int, asyncio.Future[None]]] = []
        self._order = itertools.count()
        self._swept_at = _SWEPT_MIN

    @property
    def level(self) -> int:
        return self._level

    @property
    def waiter_count(self) -> int:
        return sum(not future.done() for _, _, future in self._waiting)

    def rise_to(self, level: int) -> None:
        if level <= self._level:
            return
        self._level = level
        while self._waiting and self._waiting[0][0] <= level:
            _, _, reached = heapq.heappop(self._waiting)
            if not reached.done():
                reached.set_result(None)

    async def wait_for(self, level: int) -> None:
        """Return once the level is at least ``level``. The caller sets the deadline."""
        await self.reaching(level)

    def reaching(self, level: int) -> asyncio.Future[None]:
        """Done once the level is at least ``level``. Who gives up cancels it."""
        reached: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        if level <= self._level:
            reached.set_result(None)
            return reached
        if len(self._waiting) >= self._swept_at:
            self._sweep()
        heapq.heappush(self._waiting, (level, next(self._order), reached))
        return reached

    def _sweep(self) -> None:
        """A number that is never reached must not keep those who gave up."""
        self._waiting = [entry for entry in self._waiting if not entry[2].done()]
        heapq.heapify(self._waiting)
        self._swept_at = max(2 * len(self._waiting), _SWEPT_MIN)

    def __repr__(self) -> str:
        return f"<Waterline at {self._level}, {self.waiter_count} waiting>"
