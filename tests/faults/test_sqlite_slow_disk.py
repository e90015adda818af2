"""A disk that takes seconds to commit: writes wait, reads and watches do not; health says so."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from structlog.testing import capture_logs

from proreus.aio.tasks import background
from proreus.server.storage.health import Healthy, Slow, liveness, readiness
from proreus.server.storage.sqlite import SqliteStorage
from tests.hurried_clock import HurriedClock

PREFIX = "/registry/things/"


@pytest.fixture
async def storage(tmp_path: Path) -> AsyncIterator[SqliteStorage]:
    async with SqliteStorage.open(tmp_path / "store.db", HurriedClock(50)) as opened:
        yield opened


@asynccontextmanager
async def held_up(storage: SqliteStorage) -> AsyncIterator[None]:
    """The thread of the database waits as it does for a disk that does not answer."""
    begun, released = threading.Event(), threading.Event()

    def hold(_: object) -> None:
        begun.set()
        released.wait(60)

    async with background(storage._guard.do(hold)):
        await asyncio.to_thread(begun.wait, 60)
        try:
            yield
        finally:
            released.set()


async def until(condition: Callable[[], bool]) -> None:
    async with asyncio.timeout(60):
        while not condition():  # noqa: ASYNC110
            await asyncio.sleep(0.005)


async def test_what_is_on_disk_is_read_while_a_write_waits(storage: SqliteStorage) -> None:
    first = await storage.create(PREFIX + "a", b"1")
    second = await storage.update(PREFIX + "a", b"2", expected=first)

    async with held_up(storage):
        waiting = asyncio.create_task(storage.create(PREFIX + "b", b"3"))
        found = await storage.get(PREFIX + "a")
        page = await storage.list(PREFIX, revision=first)
        async with storage.watch(PREFIX, after=first) as watch:
            (change,) = (await anext(watch)).changes
        assert not waiting.done()

    assert found is not None
    assert (found.value, found.revision) == (b"2", second)
    assert [item.value for item in page.items] == [b"1"]
    assert change.revision == second
    assert await waiting == second + 1


async def test_a_disk_that_does_not_answer_is_reported_once_and_so_is_its_end(
    storage: SqliteStorage,
) -> None:
    with capture_logs() as logs:
        async with held_up(storage):
            waiting = asyncio.create_task(storage.create(PREFIX + "a", b"1"))
            await until(lambda: isinstance(storage.health, Slow))
            assert "it has committed none for" in readiness(storage.health)
            assert not liveness(storage.health), "a new process would have no quicker disk"
        assert await waiting
        await until(lambda: isinstance(storage.health, Healthy))

    assert [entry["event"] for entry in logs] == ["storage is slow", "storage works again"]


async def test_a_write_that_nobody_waits_for_any_more_is_still_made(
    storage: SqliteStorage,
) -> None:
    """Guarantee: durable. Who gives up does not know what became of it; others see one state."""
    async with held_up(storage):
        waiting = asyncio.create_task(storage.create(PREFIX + "a", b"1"))
        await asyncio.sleep(0)
        waiting.cancel()
        await asyncio.wait([waiting])

    async with storage.watch(PREFIX, after=1) as watch:
        (change,) = (await anext(watch)).changes
    assert change.key == PREFIX + "a"
