"""Work that waits for company, and not for long."""

from __future__ import annotations

import asyncio

from proreus.aio.debounce import Debounce
from proreus.testing.virtual_clock import VirtualClock


async def turns(count: int) -> None:
    for _ in range(count):
        await asyncio.sleep(0)


async def test_what_comes_in_successive_turns_is_done_together() -> None:
    done: list[int] = []
    waiting = 0

    def act() -> None:
        nonlocal waiting
        done.append(waiting)
        waiting = 0

    quiet = Debounce(VirtualClock(), 1.0, act)
    for _ in range(5):
        quiet.trigger()
        waiting += 1
        await turns(1)

    await turns(2)
    assert done == [5]
    assert repr(quiet) == "<WhenQuiet, 0 waiting>"


async def test_one_alone_waits_a_turn_and_no_longer() -> None:
    done: list[str] = []
    quiet = Debounce(VirtualClock(), 1.0, lambda: done.append("done"))

    quiet.trigger()
    assert not done
    await turns(3)

    assert done == ["done"]
    await turns(3)
    assert done == ["done"]


async def test_when_its_time_is_up_it_is_done_however_much_more_comes() -> None:
    done: list[str] = []
    quiet = Debounce(VirtualClock(), 0.0, lambda: done.append("done"))

    for _ in range(10):
        quiet.trigger()
        await turns(2)

    assert len(done) == 10
