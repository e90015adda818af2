"""When a back end takes its next batch of events, and how many."""

from __future__ import annotations

import contextlib

from proreus.aio.clock import Clock, deadline
from proreus.aio.token_bucket import TokenBucket
from proreus.server.audit.backlog import Backlog
from proreus.server.audit.options import BackendMode, BackendOptions


class Gathering:
    """Events gather for a moment, so that those of a busy server share a batch."""

    def __init__(self, backlog: Backlog, options: BackendOptions, clock: Clock) -> None:
        self.backlog = backlog
        self.options = options
        self._clock = clock
        is_batched = options.mode is BackendMode.BATCH
        # Requests that wait for their events are not made to wait for others'.
        self._wait_s = options.batch_wait_s if is_batched else 0.0
        self._throttle: TokenBucket | None = None
        if is_batched and options.throttle_qps:
            burst = max(1, options.throttle_burst)
            self._throttle = TokenBucket(clock, rate=options.throttle_qps, burst=burst)

    async def wait_batch(self) -> None:
        """Until a batch is full, or its first event has waited long enough."""
        await self.backlog.waiting.wait_open()
        with contextlib.suppress(TimeoutError):
            async with deadline(self._clock, self._wait_s):
                await self.backlog.has_batch.wait_open()
        if self._throttle is not None:
            await self._throttle.wait_token()

    def take(self) -> list[bytes]:
        return self.backlog.take(self.options.batch_events, self.options.batch_bytes_max)
