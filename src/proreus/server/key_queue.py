"""Queues of the server's own controllers, and what they count, under the names of client-go's.

A controller takes keys and looks at the present state of each, so a key that waits is in its queue
once, however often it is added. Bounded by the number of objects.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Hashable, Iterator
from contextlib import contextmanager
from itertools import accumulate
from operator import mul
from typing import Any, Generic, TypeVar

from proreus.aio.clock import Clock
from proreus.server.histogram import BucketCounts
from proreus.server.prometheus import (
    Collector,
    CollectorRegistry,
    CounterMetricFamily,
    GaugeMetricFamily,
    HistogramMetricFamily,
    Metric,
)

# With the errors that Kubernetes' multiplying makes, as names of buckets have them.
_BUCKETS_S = tuple(accumulate([1e-8, *[10.0] * 9], mul))
Key = TypeVar("Key", bound=Hashable)


class KeyQueue(Generic[Key]):
    """Of one worker, in one event loop."""

    def __init__(self, name: str, now: Callable[[], float]) -> None:
        self.name = name
        self.added = 0
        self.retried = 0
        self.queued = BucketCounts(_BUCKETS_S)
        self.worked = BucketCounts(_BUCKETS_S)
        self._now = now
        self._since: dict[Key, float] = {}  # when each was added
        self._any = asyncio.Event()
        self._begun: float | None = None

    def add(self, key: Key) -> None:
        if key not in self._since:
            self._since[key] = self._now()
            self.added += 1
        self._any.set()

    def retry(self, key: Key) -> None:
        """Work on it failed, and is done again."""
        self.count_retry()
        self.add(key)

    def count_retry(self) -> None:
        """Work on a key failed, which its owner keeps for later."""
        self.retried += 1

    async def wait_any(self) -> None:
        """Waits as long as nothing happens: the owner's cancellation ends it."""
        await self._any.wait()

    def take(self) -> list[Key]:
        """All of them, in the order in which they came."""
        now = self._now()
        for since in self._since.values():
            self.queued.add(now - since)
        taken = list(self._since)
        self._since.clear()
        self._any.clear()
        return taken

    @contextmanager
    def working(self) -> Iterator[None]:
        """On one key."""
        self._begun = begun = self._now()
        try:
            yield
        finally:
            self._begun = None
            self.worked.add(self._now() - begun)

    def working_s(self) -> float:
        """For how long the present key has been worked on."""
        return 0.0 if self._begun is None else self._now() - self._begun

    def __len__(self) -> int:
        return len(self._since)

    def __repr__(self) -> str:
        return f"<KeyQueue {self.name}, {len(self)} waiting>"


class KeyQueues(Collector):
    """Makes the queues of a server."""

    def __init__(self, registry: CollectorRegistry, clock: Clock) -> None:
        self._now = clock.monotonic
        self._queues: list[KeyQueue[Any]] = []
        registry.register(self)

    def named(self, name: str) -> KeyQueue[Any]:
        made: KeyQueue[Any] = KeyQueue(name, self._now)
        self._queues.append(made)
        return made

    def collect(self) -> Iterator[Metric]:
        labels = ("name",)
        depth = GaugeMetricFamily("workqueue_depth", "Keys that wait.", labels=labels)
        running = GaugeMetricFamily(
            "workqueue_longest_running_processor_seconds",
            "For how long the present key has been worked on.",
            labels=labels,
        )
        unfinished = GaugeMetricFamily(
            "workqueue_unfinished_work_seconds",
            "Time spent on keys whose work has not ended.",
            labels=labels,
        )
        added = CounterMetricFamily("workqueue_adds", "Keys that were added.", labels=labels)
        retried = CounterMetricFamily(
            "workqueue_retries", "Keys that were added again after a failure.", labels=labels
        )
        queued = HistogramMetricFamily(
            "workqueue_queue_duration_seconds", "How long a key waited.", labels=labels
        )
        worked = HistogramMetricFamily(
            "workqueue_work_duration_seconds", "How long work on a key took.", labels=labels
        )
        for queue in self._queues:
            name = (queue.name,)
            depth.add_metric(name, len(queue))
            running.add_metric(name, queue.working_s())
            unfinished.add_metric(name, queue.working_s())
            added.add_metric(name, queue.added)
            retried.add_metric(name, queue.retried)
            queued.add_metric(name, queue.queued.buckets(), queue.queued.total)
            worked.add_metric(name, queue.worked.buckets(), queue.worked.total)
        yield from (depth, running, unfinished, added, retried, queued, worked)
