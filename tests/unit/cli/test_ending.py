"""Being asked to end: cancels a start, and is left to whoever waits for it afterwards."""

from __future__ import annotations

import asyncio

import pytest

from proreus.cli.ending import AskedToEnd


async def test_a_start_is_cancelled_and_the_program_goes_on_to_its_end() -> None:
    asked, ended = AskedToEnd(), list[str]()
    asyncio.get_running_loop().call_soon(asked.set)

    async with asked:
        try:
            await asyncio.Event().wait()
        finally:
            ended.append("what was started")

    assert ended == ["what was started"]
    task = asyncio.current_task()
    assert task is not None
    assert not task.cancelling()


async def test_who_waits_is_not_cancelled() -> None:
    asked, ended = AskedToEnd(), list[str]()
    loop = asyncio.get_running_loop()

    async with asked:
        loop.call_soon(asked.set)
        await asked.wait()
        await asyncio.sleep(0)
        ended.append("in its own time")

    assert ended == ["in its own time"]


async def test_what_comes_when_the_start_was_just_over_cancels_nothing_that_ends_later() -> None:
    asked, ended = AskedToEnd(), list[str]()

    async with asked:
        try:
            asked.set()
            await asked.wait()
        finally:
            await asyncio.sleep(0)
            ended.append("whole")

    assert ended == ["whole"]


async def test_a_start_that_fails_says_why_also_when_it_was_asked_to_end() -> None:
    asked = AskedToEnd()

    with pytest.raises(OSError, match="no such disk"):
        async with asked:
            asked.set()
            raise OSError("no such disk")


async def test_a_cancellation_by_others_is_not_swallowed() -> None:
    async def starting() -> None:
        async with AskedToEnd():
            await asyncio.Event().wait()

    task = asyncio.ensure_future(starting())
    await asyncio.sleep(0)
    task.cancel()

    with pytest.raises(asyncio.CancelledError):
        await task
