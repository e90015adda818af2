"""Parts that are alive or loud."""

from __future__ import annotations

import asyncio

import pytest

from proreus.aio.backoff import Backoff
from proreus.aio.tasks import StrayCancellation, background, supervise
from proreus.testing.virtual_clock import VirtualClock


class EndlessPart:
    has_ended = False

    async def run(self) -> None:
        try:
            await asyncio.Event().wait()
        finally:
            self.has_ended = True


async def test_a_part_that_dies_is_restarted_after_a_growing_delay_and_said_each_time() -> None:
    clock = VirtualClock()
    said: list[tuple[str, str, float]] = []
    starts: list[float] = []

    async def fragile() -> None:
        starts.append(clock.monotonic())
        if len(starts) < 3:
            raise RuntimeError("broken")
        await asyncio.Event().wait()

    begin = clock.monotonic()
    part = asyncio.ensure_future(
        supervise(
            "fragile",
            fragile,
            clock=clock,
            backoff=Backoff(clock, initial_s=1, jitter=0),
            died=lambda name, why, delay_s: said.append((name, str(why), delay_s)),
        )
    )
    await clock.advance(10)

    assert said == [("fragile", "broken", 1), ("fragile", "broken", 2)]
    assert [start - begin for start in starts] == [0, 1, 3]
    part.cancel()
    with pytest.raises(asyncio.CancelledError):
        await part


async def test_background_parts_end_with_the_body() -> None:
    part = EndlessPart()

    async with background(part.run()):
        await asyncio.sleep(0)

    assert part.has_ended


async def test_a_background_part_that_fails_ends_the_body() -> None:
    async def part() -> None:
        raise RuntimeError("broken")

    with pytest.raises(ExceptionGroup):
        async with background(part()):
            await asyncio.Event().wait()


async def test_a_part_that_lets_a_cancelled_error_escape_has_died_and_is_restarted() -> None:
    clock = VirtualClock()
    said: list[str] = []
    starts: list[float] = []

    async def fragile() -> None:
        starts.append(clock.monotonic())
        own = asyncio.ensure_future(asyncio.Event().wait())
        if len(starts) == 1:
            own.cancel()
        await own

    supervised = asyncio.ensure_future(
        supervise(
            "fragile",
            fragile,
            clock=clock,
            backoff=Backoff(clock, initial_s=1, jitter=0),
            died=lambda name, why, delay_s: said.append(repr(why)),
        )
    )
    await clock.advance(10)

    assert starts == [0, 1]
    assert said == ["CancelledError()"]
    supervised.cancel()
    with pytest.raises(asyncio.CancelledError):
        await supervised


async def test_a_background_part_that_lets_a_cancelled_error_escape_ends_the_body() -> None:
    async def part() -> None:
        own = asyncio.ensure_future(asyncio.Event().wait())
        own.cancel()
        await own

    with pytest.raises(ExceptionGroup) as caught:
        async with background(part()):
            await asyncio.Event().wait()

    assert caught.group_contains(StrayCancellation)


async def test_a_cancelled_body_cancels_its_background_parts_and_nothing_else_is_raised() -> None:
    part = EndlessPart()

    async def body() -> None:
        async with background(part.run()):
            await asyncio.Event().wait()

    task = asyncio.ensure_future(body())
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task

    assert part.has_ended
