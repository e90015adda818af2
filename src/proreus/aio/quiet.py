"""Put work off while more of it keeps coming, so that all of it is done together.

What costs nearly as much for one as for many (a commit) is worth a moment's wait while the loop is
busy anyway, and none once it is idle: then nobody adds to it, and somebody may be waiting for it
alone.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from proreus.aio.clock import Clock


class WhenQuiet:
    """Calls ``act`` once a turn of the loop has passed without another ``more``.

    Not later than ``limit_s`` after the first, however busy the loop is. Cost: a callback per turn.
    """

    __slots__ = ("_act", "_clock", "_count", "_limit_s", "_until_s")

    def __init__(self, clock: Clock, limit_s: float, act: Callable[[], None]) -> None:
        self._clock = clock
        self._limit_s = limit_s
        self._act = act
        self._count = 0
        self._until_s = 0.0

    def more(self) -> None:
        """There is something to do, or more of it."""
        self._count += 1
        if self._count == 1:
            self._until_s = self._clock.monotonic() + self._limit_s
            asyncio.get_running_loop().call_soon(self._look, 0)

    def _look(self, known: int) -> None:
        if self._count > known and self._clock.monotonic() < self._until_s:
            asyncio.get_running_loop().call_soon(self._look, self._count)
        else:
            self._count = 0
            self._act()

    def __repr__(self) -> str:
        return f"<WhenQuiet, {self._count} waiting>"
