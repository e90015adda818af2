"""How many requests of a client are under way at once."""

from __future__ import annotations

import asyncio

from proreus.client.rest.request_slots import PATIENCE_S, RequestSlots
from proreus.testing.virtual_clock import VirtualClock


class Exchanges:
    """Exchanges that last until they are told to end; ``begun`` in the order of their slots."""

    def __init__(self, slots: RequestSlots) -> None:
        self._slots = slots
        self.begun: list[int] = []
        self.ends = [asyncio.Event() for _ in range(4)]
        self.tasks = [asyncio.ensure_future(self._one(number)) for number in range(4)]

    async def _one(self, number: int) -> None:
        async with self._slots:
            self.begun.append(number)
            await self.ends[number].wait()

    async def end(self, number: int) -> None:
        self.ends[number].set()
        await self.tasks[number]

    async def end_all(self) -> None:
        for end in self.ends:
            end.set()
        await asyncio.gather(*self.tasks, return_exceptions=True)


async def test_those_above_the_limit_follow_in_the_order_of_asking() -> None:
    clock = VirtualClock()
    made = Exchanges(RequestSlots(2, clock))
    await clock.advance(0)
    assert made.begun == [0, 1]

    await made.end(1)
    await clock.advance(0)
    assert made.begun == [0, 1, 2]

    await made.end(0)
    await clock.advance(0)
    assert made.begun == [0, 1, 2, 3]
    await made.end_all()


async def test_a_slow_one_holds_the_others_up_for_a_moment_only() -> None:
    clock = VirtualClock()
    made = Exchanges(RequestSlots(1, clock))

    await clock.advance(PATIENCE_S / 2)
    assert made.begun == [0]
    await clock.advance(PATIENCE_S)
    assert sorted(made.begun) == [0, 1, 2, 3]

    await made.end_all()


async def test_afterwards_the_limit_holds_again() -> None:
    clock = VirtualClock()
    slots = RequestSlots(1, clock)
    first = Exchanges(slots)
    await clock.advance(2 * PATIENCE_S)
    await first.end_all()

    second = Exchanges(slots)
    await clock.advance(0)

    assert second.begun == [0]
    await second.end_all()


async def test_a_cancelled_wait_takes_no_slot() -> None:
    clock = VirtualClock()
    slots = RequestSlots(1, clock)
    async with slots:
        made = Exchanges(slots)
        await clock.advance(0)
        made.tasks[0].cancel()  # it waits

    made.tasks[1].cancel()  # it has just been handed the slot
    await clock.advance(0)

    assert made.begun == [2]
    await made.end_all()
