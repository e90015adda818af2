"""Time that moves only when it is advanced."""

from __future__ import annotations

import asyncio
from functools import partial

from proreus.aio.clock import Clock, deadline
from proreus.testing.virtual_clock import VirtualClock


async def test_timers_run_in_the_order_of_their_time() -> None:
    clock = VirtualClock()
    seen: list[tuple[str, float]] = []

    def note(name: str) -> None:
        seen.append((name, clock.monotonic()))

    for name, delay_s in (("late", 5.0), ("early", 1.0), ("also early", 1.0)):
        clock.call_later(delay_s, partial(note, name))

    await clock.advance(4.9)
    assert seen == [("early", 1.0), ("also early", 1.0)]

    await clock.advance(0.2)
    assert seen[2:] == [("late", 5.0)]


async def test_a_cancelled_timer_does_not_run() -> None:
    clock = VirtualClock()
    timer = clock.call_later(1, lambda: None)

    timer.cancel()
    timer.cancel()

    assert repr(clock) == "<VirtualClock at 0 s, 0 timers>"


async def test_sleepers_wake_at_their_time_and_see_it() -> None:
    clock: Clock = VirtualClock()
    assert isinstance(clock, VirtualClock)
    woke: list[float] = []

    async def sleeper() -> None:
        for _ in range(3):
            await clock.sleep(10)
            woke.append(clock.monotonic())

    async with asyncio.TaskGroup() as group:
        group.create_task(sleeper())
        await clock.advance(25)
        assert woke == [10, 20]
        await clock.advance(5)

    assert woke == [10, 20, 30]


async def test_calendar_and_duration_move_together() -> None:
    clock = VirtualClock()
    began = clock.now()

    await clock.advance(90)

    assert clock.now() - began == clock.monotonic() == 90


async def test_deadlines_of_the_clock_are_virtual_too() -> None:
    clock = VirtualClock()

    async def wait() -> str:
        try:
            async with deadline(clock, 3):
                await asyncio.Event().wait()
        except TimeoutError:
            return f"gave up at {clock.monotonic():g}"
        return "never"

    async with asyncio.TaskGroup() as group:
        waiting = group.create_task(wait())
        await clock.advance(3)

    assert waiting.result() == "gave up at 3"


async def test_a_sleep_of_nothing_gives_others_a_turn() -> None:
    clock = VirtualClock()
    turns: list[str] = []
    asyncio.get_running_loop().call_soon(turns.append, "other")

    await clock.sleep(0)

    assert turns == ["other"]
