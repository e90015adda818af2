"""How much is worked on at once, and how long."""

from __future__ import annotations

import asyncio

import pytest

from proreus.server.http.deadlines import Deadlines
from proreus.server.http.limits import InFlight, TooBusy
from proreus.testing.virtual_clock import VirtualClock


async def test_a_place_goes_to_whoever_waits_longest() -> None:
    line, served = InFlight(1, 10), []
    await line.enter()

    async def wait(name: str) -> None:
        await line.enter()
        served.append(name)
        line.leave()

    async with asyncio.TaskGroup() as group:
        for name in ("first", "second", "third"):
            group.create_task(wait(name))
        await asyncio.sleep(0)
        line.leave()

    assert served == ["first", "second", "third"]
    assert line.active == 0


async def test_a_full_line_turns_the_next_away() -> None:
    line = InFlight(1, 0)
    await line.enter()

    with pytest.raises(TooBusy):
        await line.enter()


async def test_who_gives_up_waiting_keeps_no_place() -> None:
    line = InFlight(1, 10)
    await line.enter()
    async with asyncio.TaskGroup() as group:
        impatient = group.create_task(line.enter())
        await asyncio.sleep(0)
        impatient.cancel()

    line.leave()

    assert repr(line) == "<InFlight 0 of 1, 0 waiting>"


async def test_a_place_given_to_someone_who_just_left_is_given_on() -> None:
    line = InFlight(1, 10)
    await line.enter()
    async with asyncio.TaskGroup() as group:
        gone = group.create_task(line.enter())
        await asyncio.sleep(0)
        line.leave()
        gone.cancel()

    assert line.active == 0


async def test_what_takes_too_long_is_cancelled_and_knows_why() -> None:
    clock = VirtualClock()
    deadlines = Deadlines(clock)
    told: list[bool] = []

    async def request(limit_s: float) -> None:
        entry = deadlines.begin(limit_s)
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            told.append(deadlines.is_cause(entry))
        finally:
            deadlines.end(entry)

    async with asyncio.TaskGroup() as group:
        look = group.create_task(deadlines.run())
        slow = group.create_task(request(5))
        patient = group.create_task(request(500))
        await asyncio.sleep(0)
        await clock.advance(10)

        assert (slow.done(), patient.done(), told) == (True, False, [True])
        look.cancel()
        patient.cancel()
