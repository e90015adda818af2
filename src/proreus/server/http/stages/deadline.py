"""Every request has a deadline, and may ask for an earlier one; long-running requests have none.

Deadlines are checked once a second for all requests, instead of by a timer for each: a request that
is answered in time, as nearly all are, pays for a dictionary entry. A server that nobody asks
anything does not wake up for it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable

from proreus.aio.clock import Clock, deadline
from proreus.aio.gate import Gate
from proreus.api.status import BadRequest, Timeout
from proreus.api.values.duration import parse_duration
from proreus.api.wire.query import first
from proreus.net.http1.messages import Answer
from proreus.server.http.exchange import Exchange
from proreus.server.http.stages.stage import Next

_TIMEOUT_S = 60.0
_WRITE_TIMEOUT_S = 34.0
_CHECK_S = 1.0


def limit_time(deadlines: Deadlines, clock: Clock, proceed: Next) -> Next:
    def stage(exchange: Exchange) -> Awaitable[Answer]:
        return proceed(exchange) if exchange.is_long_running else limited(exchange)

    async def limited(exchange: Exchange) -> Answer:
        limit_s = _TIMEOUT_S if exchange.is_read else _WRITE_TIMEOUT_S
        entry = exchange.deadline = deadlines.begin(limit_s)
        try:
            if "timeout" in exchange.request.raw_query:
                async with deadline(clock, _asked_timeout(exchange, limit_s)):
                    return await proceed(exchange)
            return await proceed(exchange)
        except TimeoutError as error:
            raise _too_late() from error
        except asyncio.CancelledError:
            if deadlines.is_cause(entry):
                raise _too_late() from None
            raise
        finally:
            deadlines.end(entry)

    return stage


def _too_late() -> Timeout:
    text = "Timeout: request did not complete within the allotted timeout"
    return Timeout(text, details={})


def _asked_timeout(exchange: Exchange, limit_s: float) -> float:
    """A request may only shorten its time; zero and less mean the default."""
    text = first(exchange.query, "timeout")
    if not text:
        return limit_s
    try:
        asked = parse_duration(text)
    except ValueError as error:
        raise BadRequest(f"invalid timeout specified in the request URL - {error}") from error
    return min(asked, limit_s) if asked > 0 else limit_s


class Deadline:
    """Of one request; ``is_over`` once the request was cancelled for it."""

    __slots__ = ("ends", "is_over", "task")

    def __init__(self, task: asyncio.Task[object], ends: float) -> None:
        self.task = task
        self.ends = ends
        self.is_over = False


class Deadlines:
    """``run`` is begun in the loop of its requests: finding the current task is cheaper with it."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._loop: asyncio.AbstractEventLoop | None = None
        self._entries: set[Deadline] = set()
        self._begun = Gate()
        self._is_asleep = False

    def begin(self, limit_s: float) -> Deadline:
        """From here on the current task has ``limit_s``; always ``end`` it."""
        task = asyncio.current_task(self._loop)
        assert task is not None, "a request is handled in a task"
        entry = Deadline(task, self._clock.monotonic() + limit_s)
        self._entries.add(entry)
        if self._is_asleep:
            self._is_asleep = False
            self._begun.open()
        return entry

    def end(self, entry: Deadline) -> None:
        self._entries.discard(entry)

    def is_cause(self, entry: Deadline) -> bool:
        """Whether the cancellation was ours alone; then it is taken back: a timeout is answered."""
        return entry.is_over and entry.task.uncancel() == 0

    async def run(self) -> None:
        self._loop = asyncio.get_running_loop()
        while True:
            if not self._entries:
                self._is_asleep = True
                self._begun.shut()
                await self._begun.wait_open()
            await self._clock.sleep(_CHECK_S)
            now = self._clock.monotonic()
            for entry in [e for e in self._entries if e.ends <= now]:
                self.end(entry)
                entry.is_over = True
                entry.task.cancel()
