"""Time, passed in: no other module may read it, so that tests and leases run on a virtual clock.

``Clock`` is the interface, ``SystemClock`` the real one, ``SteadyClock`` one whose wall-clock time
never goes back; ``proreus.testing.virtual_clock`` has the one that tests move.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from types import TracebackType
from typing import Protocol


class Timer(Protocol):
    """A callback that waits for its time; ``cancel`` is idempotent."""

    def cancel(self) -> None: ...


class Clock(Protocol):
    """``now`` is the calendar (Unix seconds), ``monotonic`` measures durations (seconds)."""

    def now(self) -> float: ...

    def monotonic(self) -> float: ...

    def call_later(self, delay_s: float, callback: Callable[[], None]) -> Timer:
        """Run ``callback`` on the event loop after ``delay_s``."""
        ...

    async def sleep(self, delay_s: float) -> None: ...


class SystemClock:
    """The machine's clocks and the running loop's timers."""

    def now(self) -> float:
        return time.time()

    # The function itself: every request asks for it several times.
    monotonic = staticmethod(time.monotonic)

    def call_later(self, delay_s: float, callback: Callable[[], None]) -> Timer:
        return asyncio.get_running_loop().call_later(delay_s, callback)

    async def sleep(self, delay_s: float) -> None:
        await asyncio.sleep(delay_s)


class SteadyClock:
    """The calendar of ``clock``, but it never goes back: set back, it goes on from where it was, at
    the pace of ``monotonic``. For schedules that are kept in calendar time."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._now = clock.now()
        self._at = clock.monotonic()

    def now(self) -> float:
        at = self._clock.monotonic()
        self._now = max(self._clock.now(), self._now + at - self._at)
        self._at = at
        return self._now

    def monotonic(self) -> float:
        return self._clock.monotonic()

    def call_later(self, delay_s: float, callback: Callable[[], None]) -> Timer:
        return self._clock.call_later(delay_s, callback)

    async def sleep(self, delay_s: float) -> None:
        await self._clock.sleep(delay_s)


class deadline:  # read as a statement: async with deadline(clock, 5.0)
    """Raise ``TimeoutError`` in the body after ``delay_s`` of the clock's time; None: never.

    As ``asyncio.timeout``, but with the clock's timer and no other: every request has one or two.
    """

    __slots__ = ("_cancelling", "_clock", "_delay_s", "_is_late", "_task", "_timer")

    def __init__(self, clock: Clock, delay_s: float | None) -> None:
        self._clock = clock
        self._delay_s = delay_s

    async def __aenter__(self) -> None:
        if self._delay_s is None:
            return
        task = asyncio.current_task()
        if task is None:
            raise RuntimeError("only a task has a deadline")
        self._task, self._cancelling, self._is_late = task, task.cancelling(), False
        self._timer = self._clock.call_later(self._delay_s, self._end)

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if self._delay_s is None:
            return
        self._timer.cancel()
        if not self._is_late:
            return
        # Only our own cancellation becomes a TimeoutError: another one that came too goes on.
        is_ours = self._task.uncancel() <= self._cancelling
        if is_ours and kind is not None and issubclass(kind, asyncio.CancelledError):
            raise TimeoutError from error

    def _end(self) -> None:
        self._is_late = True
        self._task.cancel()
