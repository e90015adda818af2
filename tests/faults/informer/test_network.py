"""What networks do: after each fault the cache equals the server and the story makes sense."""

from __future__ import annotations

import asyncio

from tests.faults.informer.scene import Scene


async def test_connections_cut_in_the_middle(stage: Scene) -> None:
    """Guarantee: eventually equal"""
    for _ in range(3):
        await stage.wait_equal()  # by a watch, which is open then: one that opens is tried again
        stage.proxy.cut()
        await stage.churn(10)

    await stage.wait_equal()
    assert stage.causes & {"cut", "too short", "closed"}


async def test_a_connection_cut_inside_an_event(stage: Scene) -> None:
    """Guarantee: eventually equal. Half an event is no event."""
    for cut_after in (1, 100, 1_000):
        stage.proxy.cut_after(cut_after)
        await stage.churn(10)
        stage.proxy.restore()

    await stage.wait_equal()


async def test_connections_closed_in_good_order(stage: Scene) -> None:
    """Guarantee: eventually equal"""
    stage.proxy.close()
    await stage.churn()

    await stage.wait_equal()


async def test_a_black_hole_is_found_by_its_silence(stage: Scene) -> None:
    """Guarantee: alive or loud"""
    stage.proxy.black_hole()
    await stage.churn()
    await stage.wait_cause("silent")
    stage.proxy.restore()

    await stage.wait_equal()


async def test_a_half_open_connection_is_found_by_its_silence(stage: Scene) -> None:
    """Guarantee: alive or loud. The server is gone, the client does not know."""
    stage.proxy.half_open()
    await stage.churn()
    await stage.wait_cause("silent")
    stage.proxy.restore()

    await stage.wait_equal()


async def test_a_slow_line_delivers_everything_in_the_end(stage: Scene) -> None:
    """Guarantee: eventually equal"""
    stage.proxy.slow(200_000)
    await stage.churn(60)
    stage.proxy.restore()

    await stage.wait_equal()


async def test_garbage_between_events(stage: Scene) -> None:
    """Guarantee: eventually equal"""
    stage.proxy.garbage()
    await stage.churn()

    await stage.wait_equal()


async def test_a_port_where_nobody_listens_for_a_while(stage: Scene) -> None:
    """Guarantee: eventually equal"""
    await stage.proxy.refuse()
    stage.proxy.cut()
    await stage.churn()
    await asyncio.sleep(0)
    await stage.proxy.listen()

    await stage.wait_equal()


async def test_one_fault_after_the_other_while_someone_keeps_writing(stage: Scene) -> None:
    """Guarantee: eventually equal"""
    async with asyncio.TaskGroup() as group:
        group.create_task(stage.churn(150))
        for fault in (stage.proxy.cut, stage.proxy.close, stage.proxy.garbage) * 2:
            fault()
            await stage.informer.lister.wait_for_version(
                (await stage.write("marker")).resource_version, timeout_s=1200
            )

    await stage.wait_equal()
