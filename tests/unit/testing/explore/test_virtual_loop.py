"""On a virtual loop hours pass at once, and in the right order."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any, TypeVar

import pytest

from proreus.testing.explore.virtual_loop import LoopClock, Stuck, VirtualLoop

T = TypeVar("T")


def run(main: Coroutine[Any, Any, T]) -> T:
    with asyncio.Runner(loop_factory=VirtualLoop) as runner:
        return runner.run(main)


def test_sleeps_end_in_the_order_of_their_time_and_at_once() -> None:
    async def main() -> list[str]:
        woken: list[str] = []

        async def sleep(name: str, delay_s: float) -> None:
            await asyncio.sleep(delay_s)
            woken.append(f"{name} at {asyncio.get_running_loop().time():g}")

        await asyncio.gather(sleep("day", 86400), sleep("hour", 3600), sleep("second", 1))
        return woken

    assert run(main()) == ["second at 1", "hour at 3600", "day at 86400"]


def _work() -> str:
    return str(sum(range(200_000)))


def test_no_time_passes_while_a_thread_works() -> None:
    async def main() -> tuple[str, float]:
        late = asyncio.get_running_loop().call_later(3600, lambda: None)
        found = await asyncio.to_thread(_work)
        late.cancel()
        return found, asyncio.get_running_loop().time()

    assert run(main()) == (_work(), 0.0)


def test_the_calendar_can_be_set_back_and_timers_do_not_notice() -> None:
    async def main() -> tuple[float, float]:
        clock = LoopClock(asyncio.get_running_loop(), start_s=1000.0)
        await clock.sleep(60)
        clock.set_calendar(1000.0)
        return clock.now(), clock.monotonic()

    assert run(main()) == (1000.0, 60.0)


def test_a_program_in_which_nothing_can_happen_any_more_ends_with_an_error() -> None:
    async def main() -> None:
        await asyncio.Event().wait()

    with pytest.raises(Stuck):
        run(main())
