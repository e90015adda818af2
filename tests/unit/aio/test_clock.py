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


async def test_who_is_cancelled_when_the_deadline_comes_is_cancelled() -> None:
    clock = VirtualClock()

    async def wait_for_ever() -> None:
        async with deadline(clock, 5):
            await asyncio.Event().wait()

    def cancel() -> None:
        waiting.cancel()

    waiting = asyncio.ensure_future(wait_for_ever())
    clock.call_later(5, cancel)
    await clock.advance(5)

    with pytest.raises(asyncio.CancelledError):
        await waiting


async def test_of_two_deadlines_the_one_that_comes_ends_its_own_body() -> None:
    clock = VirtualClock()
    ended: list[str] = []

    async def wait_for_ever() -> None:
        try:
            async with deadline(clock, 5):
                try:
                    async with deadline(clock, 9):
                        await asyncio.Event().wait()
                except TimeoutError:
                    ended.append("inner")
        except TimeoutError:
            ended.append("outer")
        await asyncio.sleep(0)  # a cancellation that is left over would come here
        ended.append("whole")

    waiting = asyncio.ensure_future(wait_for_ever())
    await clock.advance(10)
    await waiting

    assert ended == ["outer", "whole"]


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
