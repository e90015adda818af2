"""A delaying work queue in which items that keep failing come back ever later.

A worker's loop: get, work, then ``forget`` on success or ``add_rate_limited`` on failure, and
``done`` last, always.
"""

from __future__ import annotations

from proreus.aio.clock import Clock, SystemClock
from proreus.client.workqueue.delaying import DelayingQueue
from proreus.client.workqueue.limiters import Limiter, controller_limiter
from proreus.client.workqueue.queue import T


class RateLimitedQueue(DelayingQueue[T]):
    """The queue of a controller. Without a limiter it takes Kubernetes' own for controllers."""

    def __init__(
        self, name: str = "", *, clock: Clock | None = None, limiter: Limiter[T] | None = None
    ) -> None:
        clock = clock or SystemClock()
        super().__init__(name, clock=clock)
        self._limiter: Limiter[T] = limiter if limiter is not None else controller_limiter(clock)

    def add_rate_limited(self, item: T) -> float:
        """Count a failure of ``item`` and add it after the limiter's delay, which is returned."""
        delay_s = self._limiter.when(item)
        self.add_after(item, delay_s)
        return delay_s

    def forget(self, item: T) -> None:
        """``item`` succeeded: its next failure waits as little as its first."""
        self._limiter.forget(item)

    def failures(self, item: T) -> int:
        """How often in a row ``item`` was added rate limited."""
        return self._limiter.failures(item)
