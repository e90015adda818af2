"""A full disk: one named error, nothing is lost, and writing goes on when there is space."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

from proreus.server.storage.interface import StorageFull, StoredValue
from proreus.server.storage.sqlite import SqliteStorage
from proreus.testing.virtual_clock import VirtualClock

VALUE = bytes(20_000)


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """Eight megabytes of memory as a disk, half of it taken by a file."""
    disk = tmp_path / "disk"
    disk.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=8m", "tmpfs", str(disk)], capture_output=True
    )
    if mounted.returncode:
        pytest.skip(f"no right to mount a small disk: {mounted.stderr.decode().strip()}")
    try:
        (disk / "ballast").write_bytes(bytes(4 << 20))
        yield disk
    finally:
        subprocess.run(["umount", str(disk)], check=True)


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
    (small_disk / "ballast").unlink()

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
    print(len(acknowledged))

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
    assert int(done.stdout) > 10
