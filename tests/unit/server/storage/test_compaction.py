"""When history is forgotten."""

from __future__ import annotations

import asyncio

from proreus.aio.tasks import background
from proreus.server.storage.compaction import compact_regularly
from proreus.server.storage.interface import Unavailable
from proreus.server.storage.memory import MemoryStorage
from proreus.testing.virtual_clock import VirtualClock


async def test_a_store_that_cannot_compact_is_asked_again() -> None:
    clock = VirtualClock()

    class Failing(MemoryStorage):
        failures = 1

        async def compact(self, revision: int) -> None:
            if self.failures:
                self.failures -= 1
                raise Unavailable("not now")
            await super().compact(revision)

    storage = Failing(clock)
    async with background(compact_regularly(storage, clock)):
        await clock.advance(310)
        assert storage.compacted_revision == 0
        await clock.advance(300)

    assert storage.compacted_revision == 1


async def test_history_is_kept_as_long_as_is_asked_for_and_for_good_with_0() -> None:
    clock = VirtualClock()
    async with (
        MemoryStorage.open(clock) as hour,
        MemoryStorage.open(clock) as forever,
        background(hour.run(3600.0), forever.run(0.0)),
    ):
        await clock.advance(3599)
        assert hour.compacted_revision == 0
        await clock.advance(7200)

        assert hour.compacted_revision == 1
        assert forever.compacted_revision == 0


async def test_five_to_ten_minutes_of_history_are_kept() -> None:
    clock = VirtualClock()
    async with MemoryStorage.open(clock) as storage, background(storage.run()):
        await asyncio.sleep(0)
        compacted: list[int] = []
        for minute in range(12):
            await storage.create(f"/registry/pods/{minute}", b"x")
            await clock.advance(60)
            compacted.append(storage.compacted_revision)

    # Revision 2 is written at minute 0; at minute 5 the loop compacts to what it saw at the start.
    assert compacted == [0, 0, 0, 0, 1, 1, 1, 1, 1, 6, 6, 6]
