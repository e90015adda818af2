"""Limiters: how long an item that failed must wait."""

from __future__ import annotations

import pytest

from proreus.client.workqueue import (
    AtMost,
    Bucket,
    ExponentialPerItem,
    FastThenSlow,
    MaxOf,
    RateLimitedQueue,
    controller_limiter,
)
from proreus.testing.virtual_clock import VirtualClock


def test_each_item_waits_twice_as_long_as_before_up_to_the_cap() -> None:
    limiter: ExponentialPerItem[str] = ExponentialPerItem(0.005, 1000)

    delays = [limiter.when("a") for _ in range(20)]

    assert delays[:4] == [0.005, 0.01, 0.02, 0.04]
    assert delays[-1] == 1000
    assert limiter.when("b") == 0.005
    assert limiter.failures("a") == 20


def test_an_item_may_fail_for_years() -> None:
    limiter: ExponentialPerItem[str] = ExponentialPerItem(0.005, 1000)

    assert max(limiter.when("a") for _ in range(5000)) == 1000


def test_forgetting_starts_over() -> None:
    limiter: ExponentialPerItem[str] = ExponentialPerItem()
    limiter.when("a")
    limiter.when("a")

    limiter.forget("a")
    limiter.forget("a")

    assert (limiter.failures("a"), limiter.when("a")) == (0, 0.005)


async def test_a_bucket_limits_all_items_together() -> None:
    clock = VirtualClock()
    bucket: Bucket[str] = Bucket(clock, rate=10, burst=2)

    delays = [bucket.when(item) for item in "abcd"]
    await clock.advance(1)

    assert delays == pytest.approx([0, 0, 0.1, 0.2])
    assert bucket.when("e") == 0
    assert bucket.failures("a") == 0


def test_a_few_fast_tries_then_slow_ones() -> None:
    limiter: FastThenSlow[str] = FastThenSlow(0.1, 10, 2)

    assert [limiter.when("a") for _ in range(4)] == [0.1, 0.1, 10, 10]


def test_the_longest_delay_counts_and_all_are_asked() -> None:
    slow: ExponentialPerItem[str] = ExponentialPerItem(1)
    fast: ExponentialPerItem[str] = ExponentialPerItem(0.1)
    limiter: MaxOf[str] = MaxOf(fast, slow)

    delays = [limiter.when("a") for _ in range(2)]
    limiter.forget("a")

    assert delays == [1, 2]
    assert (fast.failures("a"), limiter.failures("a")) == (0, 0)


def test_a_delay_can_be_capped() -> None:
    limiter: AtMost[str] = AtMost(ExponentialPerItem(1), 3)

    assert [limiter.when("a") for _ in range(4)] == [1, 2, 3, 3]
    limiter.forget("a")
    assert limiter.failures("a") == 0


def test_controllers_get_kubernetes_own_limits() -> None:
    limiter: MaxOf[str] = controller_limiter(VirtualClock())

    first = [limiter.when(f"item-{n}") for n in range(101)]

    assert first[0] == 0.005
    assert first[100] == pytest.approx(0.1), "the burst of 100 is used up"


async def test_a_failing_item_comes_back_later_and_later_until_it_succeeds() -> None:
    clock = VirtualClock()
    queue: RateLimitedQueue[str] = RateLimitedQueue(clock=clock, limiter=ExponentialPerItem(1))
    at: list[float] = []
    queue.add("a")
    for _ in range(4):
        while not len(queue):
            await clock.advance(0.5)
        item = await queue.get()
        at.append(clock.monotonic())
        queue.add_rate_limited(item)
        queue.done(item)

    failures = queue.failures("a")
    queue.forget("a")

    assert at == [0, 1, 3, 7]
    assert (failures, queue.failures("a")) == (4, 0)
