"""Tasks that synchronous code starts."""

from __future__ import annotations

import asyncio

import pytest

from proreus.aio.started_tasks import StartedTasks


async def test_what_is_started_while_the_owner_runs_is_done() -> None:
    tasks, done = StartedTasks(), asyncio.Event()

    async def work() -> None:
        done.set()

    async with asyncio.TaskGroup() as group:
        owner = group.create_task(tasks.run())
        await asyncio.sleep(0)
        tasks.start(work())
        await done.wait()
        owner.cancel()


async def test_what_is_still_at_work_is_cancelled_with_its_owner() -> None:
    tasks, begun = StartedTasks(), asyncio.Event()
    ended: list[bool] = []

    async def work() -> None:
        begun.set()
        try:
            await asyncio.Event().wait()
        finally:
            ended.append(True)

    owner = asyncio.ensure_future(tasks.run())
    await asyncio.sleep(0)
    tasks.start(work())
    await begun.wait()
    owner.cancel()
    with pytest.raises(asyncio.CancelledError):
        await owner

    assert ended == [True]


async def test_what_is_started_without_an_owner_is_not_done() -> None:
    tasks = StartedTasks()
    done: list[bool] = []

    async def work() -> None:
        done.append(True)

    tasks.start(work())
    await asyncio.sleep(0)

    assert done == []
    assert repr(tasks) == "<StartedTasks not running>"
