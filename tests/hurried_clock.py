"""Time that runs faster than on the wall, for programs that wait for seconds."""

from __future__ import annotations

from collections.abc import Callable

from proreus.aio.clock import SystemClock, Timer


class HurriedClock(SystemClock):
    """``hurry`` of its seconds last one."""

    def __init__(self, hurry: float) -> None:
        super().__init__()
        self._hurry = hurry

    def monotonic(self) -> float:
        return super().monotonic() * self._hurry

    def call_later(self, delay_s: float, callback: Callable[[], None]) -> Timer:
        return super().call_later(delay_s / self._hurry, callback)

    async def sleep(self, delay_s: float) -> None:
        await super().sleep(delay_s / self._hurry)
