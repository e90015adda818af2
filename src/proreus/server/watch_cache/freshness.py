"""The revision that all caches have reached, and waiting for one.

One revision holds for every resource, because one ingest feeds them all: a resource that is
not written to is as fresh as the busiest. While a reader waits, storage is asked for progress every
100 ms, for a store whose newest write was not to an object.

Waiting is cheap: a future per waiter, and one timer for all of them, since all wait equally long.
Those whose time is up are refused a few per iteration of the loop: a thousand requests that began
together do not answer together.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections import deque

from proreus.aio.clock import Clock, Timer
from proreus.aio.gate import Gate, Waterline
from proreus.api.status import ResourceVersionTooLarge
from proreus.server.storage.interface import Storage, StorageError
from proreus.server.storage.progress import PROGRESS_EVERY_S

WAIT_S = 3.0
_RETRY_AFTER_S = 1
_EXPIRED_MAX = 20  # per iteration of the loop


class _TooLate(Exception):
    """The time to wait for a revision is up."""


class Freshness:
    def __init__(self, storage: Storage, clock: Clock) -> None:
        self._storage = storage
        self._clock = clock
        self._reached = Waterline()
        # Every change up to this one has been applied and handed to the watchers. Plain, since
        # every read of the present looks at it.
        self.revision = 0
        self._somebody_waits = Gate()
        self._waiters = 0
        self._expiring: deque[tuple[float, asyncio.Future[None]]] = deque()
        self._timer: Timer | None = None

    def reached(self, revision: int) -> None:
        self._reached.rise_to(revision)
        self.revision = self._reached.level

    def start_over(self, revision: int) -> None:
        """A store that was put back to an older state counts on from there."""
        if revision < self._reached.level:
            self._reached = Waterline(revision)
        self.reached(revision)

    async def wait_for(self, revision: int) -> float:
        """Wait until ``revision`` is reached; returns for how long.

        Raises ResourceVersionTooLarge after three seconds.
        """
        if revision <= self._reached.level:
            return 0.0
        began_s = self._clock.monotonic()
        reached = self._reached.reaching(revision)
        self._expiring.append((began_s + WAIT_S, reached))
        if self._timer is None:
            self._timer = self._clock.call_later(WAIT_S, self._expire)
        self._waiters += 1
        self._somebody_waits.open()
        try:
            await reached
        except _TooLate:
            raise ResourceVersionTooLarge.of(
                revision, self._reached.level, retry_after_s=_RETRY_AFTER_S
            ) from None
        finally:
            reached.cancel()
            self._waiters -= 1
            if not self._waiters:
                self._rest()
        return self._clock.monotonic() - began_s

    def _expire(self) -> None:
        """Refuse those whose time is up, the first ones first."""
        self._timer, now_s = None, self._clock.monotonic()
        for _ in range(_EXPIRED_MAX):
            if not self._expiring or self._expiring[0][0] > now_s:
                break
            _, reached = self._expiring.popleft()
            if not reached.done():
                reached.set_exception(_TooLate())
        if self._expiring:
            self._timer = self._clock.call_later(
                max(self._expiring[0][0] - now_s, 0.0), self._expire
            )

    def _rest(self) -> None:
        """No reader waits any more."""
        self._somebody_waits.shut()
        self._expiring.clear()
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    async def run(self) -> None:
        """Ask for progress while a reader waits."""
        while True:
            await self._somebody_waits.wait_open()
            # The waiters have their deadline, and ingest reports an outage.
            with contextlib.suppress(StorageError):
                await self._storage.request_progress()
            await self._clock.sleep(PROGRESS_EVERY_S)

    def __repr__(self) -> str:
        return f"<Freshness: reached {self.revision}, {self._waiters} waiting>"
