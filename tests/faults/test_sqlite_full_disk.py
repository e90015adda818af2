"""A full disk: one named error, nothing is lost, and writing goes on when there is space."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest
from structlog.testing import capture_logs

from proreus.aio.tasks import background
from proreus.server.storage.health import Full, Healthy, liveness, readiness
from proreus.server.storage.interface import StorageFull, StoredValue
from proreus.server.storage.sqlite import SqliteStorage
from proreus.testing.virtual_clock import VirtualClock
from tests.faults import failing_disk

VALUE = bytes(20_000)


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """Eight megabytes of memory as a disk, half of it taken by a file."""
    with failing_disk.small_disk(tmp_path / "disk", 8) as disk:
        (disk / "others").write_bytes(bytes(4 << 20))
        yield disk


async def fill(storage: SqliteStorage) -> dict[str, int]:
    """Write until the disk is full; the revisions of what was acknowledged."""
    acknowledged: dict[str, int] = {}

    async def write(writer: int) -> None:
        for number in range(1_000):
            key = f"/registry/things/{writer}-{number}"
            acknowledged[key] = await storage.create(key, VALUE)

    results = await asyncio.gather(*(write(writer) for writer in range(5)), return_exceptions=True)
    assert all(isinstance(result, StorageFull) for result in results)
    assert "no space left" in str(results[0])
    return acknowledged


async def contents(storage: SqliteStorage) -> dict[str, int]:
    items: tuple[StoredValue, ...] = (await storage.list("/registry/things/")).items
    assert all(item.value == VALUE for item in items)
    return {item.key: item.revision for item in items}


@pytest.fixture
async def storage(small_disk: Path) -> AsyncIterator[SqliteStorage]:
    async with SqliteStorage.open(small_disk / "store.db", VirtualClock()) as opened:
        yield opened


async def test_a_full_disk_refuses_writes_and_loses_nothing(
    storage: SqliteStorage, small_disk: Path
) -> None:
    """Guarantee: durable"""
    acknowledged = await fill(storage)

    assert acknowledged
    assert await contents(storage) == acknowledged
    assert await storage.current_revision() == max(acknowledged.values())


async def test_writing_goes_on_when_there_is_space_again(
    storage: SqliteStorage, small_disk: Path
) -> None:
    acknowledged = await fill(storage)
    (small_disk / "others").unlink()

    async with storage.watch("/registry/", after=max(acknowledged.values())) as watch:
        revision = await storage.create("/registry/things/after", VALUE)
        assert [change.revision for change in (await anext(watch)).changes] == [revision]

    assert revision == max(acknowledged.values()) + 1
    assert await contents(storage) == acknowledged | {"/registry/things/after": revision}


async def test_a_store_on_a_full_disk_can_be_reopened(small_disk: Path) -> None:
    """Guarantee: durable"""
    async with SqliteStorage.open(small_disk / "store.db", VirtualClock()) as storage:
        acknowledged = await fill(storage)

    async with SqliteStorage.open(small_disk / "store.db", VirtualClock()) as storage:
        assert await contents(storage) == acknowledged


async def test_on_a_full_disk_everything_can_be_deleted_and_makes_room(
    storage: SqliteStorage, small_disk: Path
) -> None:
    acknowledged = await fill(storage)
    reserve = small_disk / "store.db.ballast"
    assert isinstance(storage.health, Full)
    assert not reserve.exists()

    with capture_logs() as logs:
        for key, revision in acknowledged.items():
            await storage.delete(key, expected=revision)
            with pytest.raises(StorageFull, match="only deletions"):
                await storage.create("/registry/things/more", VALUE)
        await storage.recover()

    assert [entry["event"] for entry in logs] == ["storage works again"]
    assert isinstance(storage.health, Healthy)
    assert reserve.exists()
    for number in range(len(acknowledged) // 2):
        await storage.create(f"/registry/things/again-{number}", VALUE)


async def test_a_store_that_runs_makes_room_by_itself(
    small_disk: Path,
) -> None:
    clock = VirtualClock()
    opened = SqliteStorage.open(small_disk / "store.db", clock)
    async with opened as storage, background(storage.run()):
        acknowledged = await fill(storage)
        for key, revision in acknowledged.items():
            await storage.delete(key, expected=revision)

        async with asyncio.timeout(60):
            while not isinstance(storage.health, Healthy):
                await clock.advance(5)
                await storage.checkpoint()  # the thread has done what came before

        assert await storage.create("/registry/things/after", VALUE)


async def test_updates_alone_fill_a_disk_and_compaction_frees_it(
    storage: SqliteStorage, small_disk: Path
) -> None:
    revision = await storage.create("/registry/things/a", VALUE)
    with pytest.raises(StorageFull):
        while True:
            revision = await storage.update("/registry/things/a", VALUE, expected=revision)

    await storage.recover()

    assert await storage.update("/registry/things/a", VALUE, expected=revision) == revision + 1
    assert storage.compacted_revision == revision


async def test_a_full_disk_is_reported_once_however_many_writes_it_refuses(
    storage: SqliteStorage,
) -> None:
    with capture_logs() as logs:
        await fill(storage)
        for number in range(10):
            with pytest.raises(StorageFull):
                await storage.create(f"/registry/things/late-{number}", VALUE)

    assert [entry["event"] for entry in logs] == ["storage is full"]
    assert not liveness(storage.health), "a new process would have no more room"
    assert "no space left" in readiness(storage.health)


LIMITED = """
import asyncio, resource, sys
from tests.faults.test_sqlite_full_disk import contents, fill
from proreus.server.storage.sqlite import SqliteStorage
from proreus.testing.virtual_clock import VirtualClock

async def main():
    resource.setrlimit(resource.RLIMIT_FSIZE, (3_000_000, resource.RLIM_INFINITY))
    async with SqliteStorage.open(sys.argv[1], VirtualClock()) as storage:
        acknowledged = await fill(storage)
        assert await contents(storage) == acknowledged
        resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
        key = "/registry/things/after"
        acknowledged[key] = await storage.create(key, bytes(20_000))
    async with SqliteStorage.open(sys.argv[1], VirtualClock()) as storage:
        assert await contents(storage) == acknowledged
    print(len(acknowledged), file=sys.stderr)

asyncio.run(main())
"""


def test_a_file_that_may_not_grow_is_a_full_disk(tmp_path: Path) -> None:
    """The limit of a quota, which needs no right to test."""
    done = subprocess.run(
        [sys.executable, "-c", LIMITED, str(tmp_path / "store.db")],
        capture_output=True,
        cwd=Path(__file__).parents[2],
        env={**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])},
        timeout=60,
    )

    assert done.returncode == 0, done.stderr.decode()
    assert int(done.stderr.split()[-1]) > 10
