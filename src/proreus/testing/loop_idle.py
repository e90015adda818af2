"""Whether an event loop has anything left to do, seen from where it would begin to wait.

A loop that asks its selector to wait has run every callback that was ready. If no socket has data
then, and no thread works for it, nothing happens any more but by a timer or from outside the
process: bytes on loopback are at their reader when ``send`` returns. So rest is not guessed by
waiting for a while, and a busy loop costs nothing but one call per iteration, while somebody waits
for its rest.

Only loops that are made of a selector can be looked at: asyncio's, not uvloop's.
"""

from __future__ import annotations

import asyncio
import selectors
from collections.abc import Callable
from typing import Any

# Iterations after which a loop that always has something ready is called busy.
_ITERATIONS_MAX = 100_000
_LOOK_S = 0.005  # between two questions whether others are busy
_SELECTOR = "_selector"  # asyncio's name for it; there is no public one of a running loop


class NeverIdle(Exception):
    """The loop always has something to run, or is of a sort that cannot be looked at."""


class LoopIdle:
    """``of`` the running loop; ``wait`` for it to have nothing to do."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._waiting: list[asyncio.Future[float | None]] = []
        self._iterations = 0
        self.iterations_max = _ITERATIONS_MAX
        self.jobs = 0  # of threads that work for the loop
        # Whether others do, further threads or processes, which tell the loop before they say
        # that they do not.
        self.others: set[Callable[[], bool]] = set()
        self._select = getattr(loop, _SELECTOR).select
        self._run_in_executor = loop.run_in_executor
        # Instance attributes: no other loop is concerned, and this one keeps its class.
        getattr(loop, _SELECTOR).select = self._watched_select
        loop.run_in_executor = self._counted_run  # type: ignore[method-assign, assignment]  # see above

    @classmethod
    def of(cls, loop: asyncio.AbstractEventLoop) -> LoopIdle:
        """One per loop. Raises NeverIdle."""
        selector = getattr(loop, _SELECTOR, None)
        if not isinstance(selector, selectors.BaseSelector):
            raise NeverIdle(f"{type(loop).__name__} is no loop of a selector")
        found = getattr(selector.select, "__self__", None)
        return found if isinstance(found, LoopIdle) else cls(loop)

    async def wait(self) -> float | None:
        """Until there is nothing to do but by timers of the loop: seconds to the next one, None
        if there is none. Needs no deadline of its own: a loop that is never at rest raises."""
        resting: asyncio.Future[float | None] = self._loop.create_future()
        if not self._waiting:
            self._iterations = 0
        self._waiting.append(resting)
        try:
            return await resting
        finally:
            if resting in self._waiting:
                self._waiting.remove(resting)

    def _watched_select(self, timeout_s: float | None = None) -> Any:
        if not self._waiting:
            return self._select(timeout_s)
        # Asked first: who ends while the loop looks at its sockets has told it before.
        is_busy = any(is_busy() for is_busy in self.others)
        found = self._select(0)
        if found or (timeout_s is not None and timeout_s <= 0):
            self._iterations += 1
            if self._iterations > self.iterations_max:
                why = f"after {self._iterations} iterations the loop still has something to run"
                self._tell(lambda waiting: waiting.set_exception(NeverIdle(why)))
            return found
        if is_busy:
            # They tell the loop of their end, and say a moment later that they are not busy.
            return self._select(_LOOK_S if timeout_s is None else min(timeout_s, _LOOK_S))
        if self.jobs:
            return self._select(timeout_s)
        self._tell(lambda waiting: waiting.set_result(timeout_s))
        return found

    def _tell(self, how: Callable[[asyncio.Future[float | None]], None]) -> None:
        told, self._waiting = self._waiting, []
        for waiting in told:
            if not waiting.done():
                how(waiting)

    def _counted_run(self, executor: Any, func: Any, *args: Any) -> asyncio.Future[Any]:
        job = self._run_in_executor(executor, func, *args)
        self.jobs += 1
        job.add_done_callback(self._job_done)
        return job

    def _job_done(self, job: asyncio.Future[Any]) -> None:
        self.jobs -= 1

    def __repr__(self) -> str:
        return f"<LoopIdle: {self.jobs} jobs in threads, {len(self._waiting)} waiting for rest>"
