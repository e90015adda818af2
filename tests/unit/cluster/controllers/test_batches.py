"""Many writes of one kind."""

from __future__ import annotations

import asyncio

from proreus.api.status import Forbidden
from proreus.cluster.controllers.batches import concurrently, slow_start


class Writes:
    """Writes that end when the loop comes round; ``refused`` are those that fail."""

    def __init__(self, *refused: int) -> None:
        self.begun: list[int] = []
        self.most_at_once = 0
        self._under_way = 0
        self._refused = refused

    async def write(self, number: int) -> None:
        self.begun.append(number)
        self._under_way += 1
        self.most_at_once = max(self.most_at_once, self._under_way)
        await asyncio.sleep(0)
        self._under_way -= 1
        if number in self._refused:
            raise Forbidden(f"{number} is refused")


async def test_all_are_written_and_a_bounded_number_at_once() -> None:
    writes = Writes()

    assert await slow_start(range(300), writes.write) == []

    assert sorted(writes.begun) == list(range(300))
    assert writes.most_at_once == 16


async def test_what_cannot_work_is_tried_once() -> None:
    writes = Writes(*range(300))

    failures = await slow_start(range(300), writes.write)

    assert (writes.begun, len(failures)) == ([0], 1)


async def test_a_failure_later_on_ends_it_soon() -> None:
    writes = Writes(*range(100, 300))

    failures = await slow_start(range(300), writes.write)

    assert failures
    assert len(writes.begun) < 100 + 2 * 16


async def test_without_a_slow_start_failures_end_nothing() -> None:
    writes = Writes(0, 7)

    failures = await concurrently(range(40), writes.write)

    assert len(writes.begun) == 40
    assert [str(failure) for failure in failures] == ["0 is refused", "7 is refused"]
