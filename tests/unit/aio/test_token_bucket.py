"""Rate limits on a virtual clock."""

from __future__ import annotations

import asyncio

from proreus.aio.token_bucket import TokenBucket
from proreus.testing.virtual_clock import VirtualClock


async def test_a_burst_passes_at_once_and_then_the_rate_rules() -> None:
    clock = VirtualClock()
    bucket = TokenBucket(clock, rate=2, burst=3)

    assert [bucket.reserve() for _ in range(4)] == [0, 0, 0, 0.5]

    await clock.advance(1)
    assert bucket.reserve() == 0


async def test_waiting_takes_as_long_as_earning_a_token() -> None:
    clock = VirtualClock()
    bucket = TokenBucket(clock, rate=2, burst=1)
    bucket.reserve()
    waiting = asyncio.ensure_future(bucket.wait_token())

    await clock.advance(0.4)
    assert not waiting.done()
    await clock.advance(0.2)

    assert await waiting == 0.5


async def test_a_cancelled_wait_gives_its_token_back() -> None:
    clock = VirtualClock()
    bucket = TokenBucket(clock, rate=1, burst=1)
    bucket.reserve()
    waiting = asyncio.ensure_future(bucket.wait_token())
    await asyncio.sleep(0)

    waiting.cancel()
    await asyncio.gather(waiting, return_exceptions=True)
    await clock.advance(1)

    assert bucket.reserve() == 0
