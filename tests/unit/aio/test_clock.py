"""Deadlines on a clock."""

from __future__ import annotations

import asyncio

import pytest

from proreus.aio.clock import SteadyClock, SystemClock, deadline
from proreus.testing.virtual_clock import VirtualClock


async def test_a_deadline_ends_the_body_when_the_clock_reaches_it() -> None:
    clock = VirtualClock()

    async def wait_for_ever() -> None:
        async with deadline(clock, 5):
            await asyncio.Event().wait()

    waiting = asyncio.ensure_future(wait_for_ever())
    await clock.advance(4.9)
    assert not waiting.done()
    await clock.advance(0.2)

    with pytest.raises(TimeoutError):
        await waiting


async def test_a_body_that_is_quick_enough_never_notices_its_deadline() -> None:
    async with deadline(SystemClock(), 60):
        pass
    async with deadline(SystemClock(), None):
        pass


class Settable(VirtualClock):
    """A clock whose calendar somebody sets."""

    def __init__(self) -> None:
        super().__init__()
        self.set_by_s = 0.0

    def now(self) -> float:
        return super().now() + self.set_by_s


async def test_a_steady_clock_goes_on_when_the_calendar_is_set_back() -> None:
    clock = Settable()
    steady, begun = SteadyClock(clock), clock.now()

    await clock.advance(5)
    clock.set_by_s = -7200.0
    assert steady.now() == begun + 5
    await clock.advance(10)
    assert steady.now() == begun + 15
    clock.set_by_s = 60.0

    assert steady.now() == clock.now() == begun + 75
    assert steady.monotonic() == 15
