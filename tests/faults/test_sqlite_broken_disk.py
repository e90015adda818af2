"""A disk that fails, a file that is taken away: seen at once, logged once, and nothing is lost."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from pathlib import Path

import pytest
from structlog.testing import capture_logs

from proreus.server.storage.health import Broken, Healthy, ReadOnly, liveness, readiness
from proreus.server.storage.interface import StorageBroken, StorageReadOnly
from proreus.server.storage.sqlite import SqliteStorage
from proreus.testing.virtual_clock import VirtualClock
from tests.faults.failing_disk import log_of, lose_syncs, read_only, refuse_writes

PREFIX = "/registry/things/"


@pytest.fixture
def path(tmp_path: Path) -> Path:
    (tmp_path / "data").mkdir()
    return tmp_path / "data" / "store.db"


@pytest.fixture
async def storage(path: Path) -> AsyncIterator[SqliteStorage]:
    async with SqliteStorage.open(path, VirtualClock()) as opened:
        await opened.create(PREFIX + "kept", b"x")
        await opened.checkpoint()
        yield opened


def remove(path: Path) -> None:
    path.unlink()


def replace(path: Path) -> None:
    copy = path.with_name("copy")
    copy.write_bytes(path.read_bytes())
    copy.rename(path)


def remove_log(path: Path) -> None:
    log_of(path).unlink()


def hide(path: Path) -> None:
    path.parent.rename(path.parent.with_name("elsewhere"))
    path.parent.touch()


def remove_lock(path: Path) -> None:
    path.with_name(path.name + ".lock").unlink()


@pytest.mark.parametrize(
    ("fault", "words"),
    [
        (lose_syncs, "the disk failed under .*store.db"),
        (refuse_writes, "the disk failed under .*store.db"),
        (remove, "store.db was removed while it was in use"),
        (replace, "store.db was replaced while it was in use"),
        (remove_log, "store.db-wal was removed while it was in use"),
        (hide, "store.db cannot be reached any more: Not a directory"),
        (remove_lock, "store.db.lock was removed while it was in use"),
    ],
)
async def test_a_store_that_lost_its_disk_acknowledges_nothing_and_says_so_once(
    storage: SqliteStorage, path: Path, fault: Callable[[Path], None], words: str
) -> None:
    """Guarantee: durable"""
    fault(path)

    with capture_logs() as logs:
        for number in range(3):
            with pytest.raises(StorageBroken, match=words):
                await storage.create(f"{PREFIX}{number}", b"x")

    assert [entry["event"] for entry in logs] == ["storage failed, writes are refused"]
    assert "restart" in logs[0]["remedy"]
    assert isinstance(storage.health, Broken)
    assert liveness(storage.health) and readiness(storage.health)
    assert [item.key for item in (await storage.list(PREFIX)).items] == [PREFIX + "kept"]


@pytest.mark.parametrize("fault", [lose_syncs, refuse_writes])
async def test_after_a_restart_everything_acknowledged_is_there(
    path: Path, fault: Callable[[Path], None]
) -> None:
    """Guarantee: durable"""
    async with SqliteStorage.open(path, VirtualClock()) as storage:
        acknowledged = {f"{PREFIX}{n}": await storage.create(f"{PREFIX}{n}", b"x") for n in "abc"}
        fault(path)
        with pytest.raises(StorageBroken):
            await storage.create(PREFIX + "in doubt", b"x")

    async with SqliteStorage.open(path, VirtualClock()) as storage:
        found = {item.key: item.revision for item in (await storage.list(PREFIX)).items}
        found.pop(PREFIX + "in doubt", None)
        assert found == acknowledged
        assert isinstance(storage.health, Healthy)
        assert await storage.create(PREFIX + "d", b"x") > max(acknowledged.values())


async def test_a_read_only_file_system_is_called_that_and_reads_are_served(
    storage: SqliteStorage, path: Path
) -> None:
    refuse_writes(path)
    with read_only(path.parent), capture_logs() as logs:
        for number in range(3):
            with pytest.raises(StorageReadOnly, match="Read-only file system"):
                await storage.create(f"{PREFIX}{number}", b"x")

    assert [entry["event"] for entry in logs] == ["storage is read-only"]
    assert isinstance(storage.health, ReadOnly)
    assert not liveness(storage.health), "a new process could not open the file at all"
    assert "Read-only" in readiness(storage.health)
    assert [item.key for item in (await storage.list(PREFIX)).items] == [PREFIX + "kept"]
