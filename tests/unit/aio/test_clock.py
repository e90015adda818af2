"""Deadlines on a clock."""

from __future__ import annotations

import asyncio

import pytest

from proreus.aio.clock import SystemClock, deadline
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
