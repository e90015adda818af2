"""Work queues as controllers need them: deduplicated, delayed, rate limited."""

from proreus.client.workqueue.delaying import DelayingQueue
from proreus.client.workqueue.limiters import (
    AtMost,
    Bucket,
    ExponentialPerItem,
    FastThenSlow,
    Limiter,
    MaxOf,
    controller_limiter,
)
from proreus.client.workqueue.queue import QueueShutDown, WorkQueue
from proreus.client.workqueue.rate_limited import RateLimitedQueue
from proreus.client.workqueue.statistics import Durations, QueueStatistics

__all__ = [
    "AtMost",
    "Bucket",
    "DelayingQueue",
    "Durations",
    "ExponentialPerItem",
    "FastThenSlow",
    "Limiter",
    "MaxOf",
    "QueueShutDown",
    "QueueStatistics",
    "RateLimitedQueue",
    "WorkQueue",
    "controller_limiter",
]
