"""A slow, blocked or raising handler costs itself and nobody else."""

from __future__ import annotations

import asyncio

from proreus.client.informer import Notification
from tests.guarantees.informer_world import World


async def test_bad_handlers_hold_up_neither_the_cache_nor_good_handlers() -> None:
    """Guarantee: nothing starves"""
    world = World(streams_lists=True)
    never = asyncio.Event()

    async def blocked(_: Notification) -> None:
        await never.wait()

    async def slow(_: Notification) -> None:
        await world.clock.sleep(60)

    def raises(_: Notification) -> None:
        raise ValueError("indigestible")

    bad = [world.informer.add_handler(on_notification=f) for f in (blocked, slow, raises)]
    good = world.join()
    async with world.running():
        for version in range(500):
            world.server.write(f"object-{version % 20}")
            if version % 50 == 0:
                await world.clock.advance(0.01)
        await world.clock.advance(5)

        assert world.cached == world.served
        assert good.complaints == [] and len(good.seen) == 20
        assert bad[2].failure_count == good.heard
        assert bad[0].pending == good.heard - 1


async def test_a_slow_handler_gets_everything_in_the_end() -> None:
    """Guarantee: nothing starves"""
    world = World(streams_lists=True)
    heard: list[str] = []

    async def slow(notification: Notification) -> None:
        await world.clock.sleep(1)
        heard.append(notification.object.resource_version)

    world.informer.add_handler(on_notification=slow)
    async with world.running():
        for _ in range(30):
            world.server.write("a")
            await world.clock.advance(0.1)
        await world.clock.advance(60)

    assert heard == [str(revision) for revision in range(2, 32)]


async def test_a_busy_stream_does_not_keep_a_handler_or_a_reader_from_its_turn() -> None:
    """Guarantee: nothing starves. 5,000 events are there at once; a task that only wants a turn of
    the loop now and then gets it long before they are all applied."""
    world = World(streams_lists=True)
    witness = world.join()
    seen_by_reader: list[int] = []
    async with world.running():
        await world.clock.advance(1)
        for n in range(5_000):
            world.server.write(f"object-{n % 100}")
        for _ in range(20):
            await asyncio.sleep(0)
            seen_by_reader.append(witness.heard)
        await world.informer.lister.wait_for_version(world.server.revision)
        await world.clock.settle()

        assert seen_by_reader[-1] < 5_000
        assert witness.complaints == []
        assert world.cached == world.served
