"""A part that dies is started again, and says meanwhile that it is not at work."""

from __future__ import annotations

from proreus.aio.supervised_part import SupervisedPart, Worked
from proreus.aio.tasks import background
from proreus.testing.virtual_clock import VirtualClock


async def test_a_part_is_at_work_from_when_it_says_so_until_it_dies() -> None:
    clock = VirtualClock()
    runs = 0

    async def run(worked: Worked) -> None:
        nonlocal runs
        runs += 1
        await clock.sleep(1)
        if runs > 1:
            worked()
        await clock.sleep(1)
        raise ValueError(f"run {runs} failed")

    part = SupervisedPart("part", run, clock)
    assert part.fault() == "not finished"

    async with background(part.run()):
        await clock.advance(2)
        assert part.fault() == "not finished: run 1 failed"
        while runs < 2:
            await clock.advance(0.1)
        await clock.advance(1)
        assert part.fault() == ""
        await clock.advance(1)
        assert part.fault() == "not finished: run 2 failed"
