"""An event loop whose time jumps: when nothing can run it is the next timer's time at once.

``asyncio.sleep``, ``asyncio.timeout`` and ``LoopClock`` all follow ``loop.time()``, so a program of
hours runs in milliseconds, in the same order each time, without being written for it. Sockets work
too; work in threads that the loop was asked for (``run_in_executor``) is waited for in real time,
and no time passes meanwhile.
"""

from __future__ import annotations

import asyncio
import selectors
from collections.abc import Callable
from concurrent.futures import Executor
from typing import Any, TypeVar, TypeVarTuple, Unpack

from proreus.aio.clock import Timer

_T = TypeVar("_T")
_Args = TypeVarTuple("_Args")
_START_S = 1_767_225_600.0  # 2026-01-01T00:00:00Z
_ROUND_S, _SELDOM = 1.0, 1000.0
_STUCK_S = 2.0
_THREADS_S = 0.05  # between two looks at whether a thread has ended


class Stuck(RuntimeError):
    """Nothing runs and nothing ever will: no timer, no thread."""


class VirtualLoop(asyncio.SelectorEventLoop):
    """For ``asyncio.Runner(loop_factory=VirtualLoop)``. Time starts at 0."""

    def __init__(self) -> None:
        self._now_s = 0.0
        self._thread_jobs = 0
        super().__init__(_JumpingSelector(self))

    def time(self) -> float:
        return self._now_s

    def jump(self, seconds: float) -> None:
        self._now_s += seconds

    @property
    def has_thread_jobs(self) -> bool:
        return self._thread_jobs > 0

    def run_in_executor(
        self, executor: Executor | None, func: Callable[[Unpack[_Args]], _T], *args: *_Args
    ) -> asyncio.Future[_T]:
        job = super().run_in_executor(executor, func, *args)
        self._thread_jobs += 1
        job.add_done_callback(self._thread_job_ended)
        return job

    async def shutdown_default_executor(self, timeout: float | None = None) -> None:
        """Without the deadline of ``asyncio.Runner``: threads end in real time, of which this loop
        has none."""
        self._thread_jobs += 1
        try:
            await super().shutdown_default_executor()
        finally:
            self._thread_jobs -= 1

    def _thread_job_ended(self, _: object) -> None:
        self._thread_jobs -= 1


class _JumpingSelector(selectors.DefaultSelector):
    def __init__(self, loop: VirtualLoop) -> None:
        super().__init__()
        self._loop = loop

    def select(self, timeout: float | None = None) -> Any:
        ready = super().select(0)
        if ready or timeout == 0:
            return ready
        if self._loop.has_thread_jobs:
            return super().select(_THREADS_S)
        if timeout is None:
            # Perhaps a thread that the loop was not asked for.
            if not (ready := super().select(_STUCK_S)):
                raise Stuck("every task waits for something that nothing will bring about")
            return ready
        self._loop.jump(timeout)
        return ready


class LoopClock:
    """Implements ``aio.clock.Clock`` by a loop's time; its calendar begins at 2026-01-01 UTC."""

    def __init__(self, loop: asyncio.AbstractEventLoop, start_s: float = _START_S) -> None:
        self._loop = loop
        self._start_s = start_s

    def now(self) -> float:
        return self._start_s + self._loop.time()

    def set_calendar(self, now_s: float) -> None:
        """Timers do not notice: they count by ``monotonic``."""
        self._start_s = now_s - self._loop.time()

    def monotonic(self) -> float:
        return self._loop.time()

    def call_later(self, delay_s: float, callback: Callable[[], None]) -> Timer:
        return self._loop.call_later(delay_s, callback)

    async def sleep(self, delay_s: float) -> None:
        woken: asyncio.Future[None] = self._loop.create_future()
        timer = self._loop.call_later(
            max(0.0, delay_s), lambda: None if woken.done() else woken.set_result(None)
        )
        try:
            await woken
        finally:
            timer.cancel()

    def __repr__(self) -> str:
        return f"<LoopClock at {self._loop.time():g} s>"


class ServerClock(LoopClock):
    """Of a server under exploration: its own rounds (leases, fair shares, idle connections), which
    ``sleep`` between two, come seldom, since nothing depends on them and a quiet minute must cost
    nothing. What it promises to clients (timeouts, bookmarks) is timed by ``call_later``."""

    async def sleep(self, delay_s: float) -> None:
        await super().sleep(delay_s * (_SELDOM if delay_s >= _ROUND_S else 1.0))
