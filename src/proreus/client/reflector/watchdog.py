"""Finds silence: a peer that neither speaks nor hangs up is dead after a deadline.

Without it a half-open connection looks like a quiet collection, for ever (docs/guarantees.md,
"alive or loud"). Cost per sign of life: one attribute; a timer only every ``limit_s``.
"""

from __future__ import annotations

import asyncio
from types import TracebackType

from proreus.aio.clock import Clock, Timer

# Sums of floats are off by less than this; a timer armed for the rest would spin.
_RESOLUTION_S = 1e-4


class Watchdog:
    """Raises ``TimeoutError`` in its body once ``fed_at`` is ``limit_s`` old.

    Set ``fed_at`` to ``clock.monotonic()`` at every sign of life.
    """

    def __init__(self, clock: Clock, limit_s: float) -> None:
        self._clock = clock
        self._limit_s = limit_s
        self._scope = asyncio.timeout(None)
        self._timer: Timer | None = None
        self.fed_at = clock.monotonic()

    def set_limit(self, limit_s: float) -> None:
        self._limit_s = limit_s
        self._watch()

    async def __aenter__(self) -> Watchdog:
        await self._scope.__aenter__()
        self.fed_at = self._clock.monotonic()
        self._watch()
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._stop_timer()
        await self._scope.__aexit__(kind, error, traceback)

    def _watch(self) -> None:
        self._stop_timer()
        left_s = self.fed_at + self._limit_s - self._clock.monotonic()
        if left_s <= _RESOLUTION_S:
            self._scope.reschedule(asyncio.get_running_loop().time())
        else:
            self._timer = self._clock.call_later(left_s, self._watch)

    def _stop_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
