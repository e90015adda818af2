"""Debounce: defer work while more of it keeps coming, so that all of it is done in one batch.

What costs nearly as much for one as for many (a commit) is worth a wait while the loop is busy,
and none once it is idle: then nothing more comes, and a caller may be waiting.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from proreus.aio.clock import Clock


class Debounce:
    """Calls ``act`` once an iteration of the loop has passed without another ``trigger``.

    Not later than ``limit_s`` after the first, however busy the loop is. Cost: a callback per turn.
    """

    __slots__ = ("_act", "_clock", "_count", "_limit_s", "_until_s")

    def __init__(self, clock: Clock, limit_s: float, act: Callable[[], None]) -> None:
        self._clock = clock
        self._limit_s = limit_s
        self._act = act
        self._count = 0
        self._until_s = 0.0

    def trigger(self) -> None:
        """There is something to do, or more of it."""
        self._count += 1
        if self._count == 1:
            self._until_s = self._clock.monotonic() + self._limit_s
            asyncio.get_running_loop().call_soon(self._check, 0)

    def _check(self, known: int) -> None:
        if self._count > known and self._clock.monotonic() < self._until_s:
            asyncio.get_running_loop().call_soon(self._check, self._count)
        else:
            self._count = 0
            self._act()

    def __repr__(self) -> str:
        return f"<WhenQuiet, {self._count} waiting>"
