"""How far the cache is, and waiting until it is far enough.

One revision holds for every resource, because one ingest feeds them all: a resource nobody writes
to is as fresh as the busiest. While somebody waits, storage is asked for progress every 100 ms,
for a store whose newest write was not to an object.
"""

from __future__ import annotations

import contextlib

from proreus.aio.clock import Clock, deadline
from proreus.aio.gate import Gate, Waterline
from proreus.api.status import ResourceVersionTooLarge
from proreus.server.storage.interface import Storage, Unavailable

WAIT_S = 3.0
PROGRESS_EVERY_S = 0.1
_RETRY_AFTER_S = 1


class Freshness:
    def __init__(self, storage: Storage, clock: Clock) -> None:
        self._storage = storage
        self._clock = clock
        self._reached = Waterline()
        self._somebody_waits = Gate()
        self._waiters = 0

    @property
    def revision(self) -> int:
        """Every change up to this one has been applied and handed to the watchers."""
        return self._reached.level

    def reached(self, revision: int) -> None:
        self._reached.rise_to(revision)

    def start_over(self, revision: int) -> None:
        """A store that was put back to an older state counts on from there."""
        if revision < self._reached.level:
            self._reached = Waterline(revision)
        self._reached.rise_to(revision)

    async def wait_for(self, revision: int) -> float:
        """Wait until ``revision`` is reached; returns for how long.

        Raises ResourceVersionTooLarge after three seconds.
        """
        if revision <= self._reached.level:
            return 0.0
        began_s = self._clock.monotonic()
        self._waiters += 1
        self._somebody_waits.open()
        try:
            async with deadline(self._clock, WAIT_S):
                await self._reached.wait_for(revision)
        except TimeoutError:
            raise ResourceVersionTooLarge.of(
                revision, self._reached.level, retry_after_s=_RETRY_AFTER_S
            ) from None
        finally:
            self._waiters -= 1
            if not self._waiters:
                self._somebody_waits.shut()
        return self._clock.monotonic() - began_s

    async def run(self) -> None:
        """Ask for progress while somebody waits."""
        while True:
            await self._somebody_waits.wait_open()
            # The waiters have their deadline, and ingest reports an outage.
            with contextlib.suppress(Unavailable):
                await self._storage.request_progress()
            await self._clock.sleep(PROGRESS_EVERY_S)

    def __repr__(self) -> str:
        return f"<Freshness: reached {self.revision}, {self._waiters} waiting>"
