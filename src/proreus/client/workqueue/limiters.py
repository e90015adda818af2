"""How long an item that failed must wait: pure rules, one decision each.

``MaxOf(ExponentialPerItem(), Bucket(clock))`` is what Kubernetes' own controllers use, see
``controller_limiter``. Memory: one counter per failing item, freed by ``forget``.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Hashable
from typing import Generic, Protocol, TypeVar

from proreus.aio.clock import Clock
from proreus.aio.token_bucket import TokenBucket
from proreus.client.workqueue.queue import T

Item = TypeVar("Item", bound=Hashable, contravariant=True)


class Limiter(Protocol[Item]):
    """``when`` counts one more failure and says how long to wait; success must ``forget``."""

    def when(self, item: Item) -> float: ...

    def forget(self, item: Item) -> None: ...

    def failures(self, item: Item) -> int: ...


class _CountingLimiter(ABC, Generic[T]):
    """Failures per item; subclasses turn the number of earlier ones into a delay."""

    def __init__(self) -> None:
        self._failures: dict[T, int] = {}

    def when(self, item: T) -> float:
        earlier = self._failures.get(item, 0)
        self._failures[item] = earlier + 1
        return self._delay_s(earlier)

    def forget(self, item: T) -> None:
        self._failures.pop(item, None)

    def failures(self, item: T) -> int:
        return self._failures.get(item, 0)

    @abstractmethod
    def _delay_s(self, earlier: int) -> float: ...


class ExponentialPerItem(_CountingLimiter[T]):
    """``initial_s``·2ⁿ after n earlier failures of this item, at most ``cap_s``."""

    def __init__(self, initial_s: float = 0.005, cap_s: float = 1000.0) -> None:
        super().__init__()
        self._initial_s, self._cap_s = initial_s, cap_s

    def _delay_s(self, earlier: int) -> float:
        # Beyond 2⁶³ any initial delay has long passed the cap, and a float would overflow.
        return min(self._initial_s * 2.0 ** min(earlier, 63), self._cap_s)


class FastThenSlow(_CountingLimiter[T]):
    """``fast_s`` for the first ``fast_count`` failures of an item, ``slow_s`` afterwards."""

    def __init__(self, fast_s: float, slow_s: float, fast_count: int) -> None:
        super().__init__()
        self._fast_s, self._slow_s, self._fast_count = fast_s, slow_s, fast_count

    def _delay_s(self, earlier: int) -> float:
        return self._fast_s if earlier < self._fast_count else self._slow_s


class Bucket(Generic[T]):
    """All items together: ``rate`` per second with bursts, as a reservation that never blocks."""

    def __init__(self, clock: Clock, *, rate: float = 10.0, burst: int = 100) -> None:
        self._bucket = TokenBucket(clock, rate=rate, burst=burst)

    def when(self, item: T) -> float:
        return self._bucket.reserve()

    def forget(self, item: T) -> None:
        """Nothing is kept per item."""

    def failures(self, item: T) -> int:
        return 0


class MaxOf(Generic[T]):
    """The longest delay that any of several limiters asks for."""

    def __init__(self, *limiters: Limiter[T]) -> None:
        self._limiters = limiters

    def when(self, item: T) -> float:
        # All are asked, because asking is also counting.
        return max([limiter.when(item) for limiter in self._limiters])

    def forget(self, item: T) -> None:
        for limiter in self._limiters:
            limiter.forget(item)

    def failures(self, item: T) -> int:
        return max(limiter.failures(item) for limiter in self._limiters)


class AtMost(Generic[T]):
    """Another limiter's delay, but never more than ``cap_s``."""

    def __init__(self, limiter: Limiter[T], cap_s: float) -> None:
        self._limiter, self._cap_s = limiter, cap_s

    def when(self, item: T) -> float:
        return min(self._limiter.when(item), self._cap_s)

    def forget(self, item: T) -> None:
        self._limiter.forget(item)

    def failures(self, item: T) -> int:
        return self._limiter.failures(item)


def controller_limiter(clock: Clock) -> MaxOf[T]:
    """5 ms … 1000 s per item, and 10 retries per second (bursts of 100) over all items."""
    return MaxOf(ExponentialPerItem[T](), Bucket[T](clock))
