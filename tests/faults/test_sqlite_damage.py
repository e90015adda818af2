"""Damage that SQLite does not notice: flipped bits in values, a write-ahead log without its end."""

from __future__ import annotations

import shutil
import sqlite3
from collections.abc import Callable
from pathlib import Path

import pytest
from structlog.testing import capture_logs

from proreus.aio.tasks import background
from proreus.server.storage.interface import DAMAGED, Compacted, StorageCorrupt
from proreus.server.storage.sqlite import SqliteStorage, maintenance, statements
from proreus.testing.virtual_clock import VirtualClock
from tests.faults.failing_disk import log_of

PREFIX = "/registry/things/"


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "store.db"


async def write(path: Path, count: int = 20) -> None:
    async with SqliteStorage.open(path, VirtualClock()) as storage:
        for number in range(count):
            await storage.create(f"{PREFIX}{number:02}", b"value %02d " % number * 100)


def flip(path: Path, found: bytes, by: bytes) -> None:
    content = path.read_bytes()
    assert found in content
    path.write_bytes(content.replace(found, by, 1))


async def test_a_flipped_bit_in_a_value_is_reported_and_the_others_are_served(path: Path) -> None:
    await write(path)
    flip(path, b"value 07", b"value 17")

    with capture_logs() as logs:
        async with SqliteStorage.open(path, VirtualClock()) as storage:
            items = {item.key: item.value for item in (await storage.list(PREFIX)).items}
            found = await storage.get(f"{PREFIX}07")

    assert found is not None and found.value == DAMAGED
    assert items.pop(f"{PREFIX}07") == DAMAGED
    assert items == {f"{PREFIX}{n:02}": b"value %02d " % n * 100 for n in range(20) if n != 7}
    (entry,) = logs  # once, however often it is read
    assert entry["event"] == "stored value is damaged and served empty"
    assert (entry["key"], entry["revision"]) == (f"{PREFIX}07", 9)


async def test_a_damaged_value_can_be_replaced_and_deleted(path: Path) -> None:
    await write(path)
    flip(path, b"value 07", b"value 17")
    flip(path, b"value 08", b"value 18")

    async with SqliteStorage.open(path, VirtualClock()) as storage:
        new = await storage.update(f"{PREFIX}07", b"new", expected=9)
        await storage.delete(f"{PREFIX}08", expected=10)
        found = await storage.get(f"{PREFIX}07")
        assert found is not None
        assert (found.value, found.revision) == (b"new", new)
        async with storage.watch(PREFIX, after=new - 1) as watch:
            replaced, deleted = (await anext(watch)).changes
        assert replaced.old is not None and replaced.old.value == DAMAGED
        assert deleted.old is not None and deleted.old.value == DAMAGED


async def test_values_nobody_reads_are_verified_now_and_then(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(maintenance, "VERIFY_S", 60.0)
    await write(path, 50)
    flip(path, b"value 47", b"value 57")
    clock = VirtualClock()

    with capture_logs() as logs:
        async with SqliteStorage.open(path, clock) as storage, background(storage.run()):
            await clock.advance(60)
            for _ in range(10):
                await clock.advance(1)
                await storage.checkpoint()  # the thread has done what came before

    assert [entry["key"] for entry in logs if "damaged" in entry["event"]] == [f"{PREFIX}47"]


async def test_a_flipped_bit_in_a_key_is_found_when_opening(path: Path) -> None:
    await write(path)
    flip(path, b"things/07", b"things/77")

    with pytest.raises(StorageCorrupt, match="the row of revision 9 does not match its checksum"):
        await write(path, 0)


async def test_a_key_that_is_no_text_any_more_is_damage(path: Path) -> None:
    await write(path)
    flip(path, b"things/07", b"thing\xf3/07")

    with pytest.raises(StorageCorrupt, match="is damaged"):
        await write(path, 0)


async def crashed(path: Path, folder: Path) -> Path:
    """What a process that was killed leaves: ten writes in the log, none in the file."""
    async with SqliteStorage.open(path, VirtualClock()) as storage:
        await storage.create(f"{PREFIX}first", b"x")
        await storage.checkpoint()
        for number in range(10):
            await storage.create(f"{PREFIX}{number}", b"x" * 3_000)
        folder.mkdir()
        for file in path.parent.glob("store.db*"):
            shutil.copy(file, folder / file.name)
    return folder / path.name


def empty(log: Path) -> None:
    log.write_bytes(b"")


def remove(log: Path) -> None:
    log.unlink()


def cut(log: Path) -> None:
    content = log.read_bytes()
    log.write_bytes(content[: len(content) // 2])


def damage(log: Path) -> None:
    content = bytearray(log.read_bytes())
    content[len(content) // 2] ^= 1
    log.write_bytes(content)


async def test_what_a_killed_process_leaves_opens_without_loss(path: Path, tmp_path: Path) -> None:
    left = await crashed(path, tmp_path / "left")

    async with SqliteStorage.open(left, VirtualClock()) as storage:
        assert await storage.count(PREFIX) == 11


@pytest.mark.parametrize("fault", [empty, remove, cut, damage])
async def test_a_log_that_lost_its_end_is_refused_and_can_be_given_up(
    path: Path, tmp_path: Path, fault: Callable[[Path], None]
) -> None:
    """Guarantee: durable, resumable. Lost revisions are never given to other writes."""
    left = await crashed(path, tmp_path / "left")
    fault(log_of(left))

    with pytest.raises(StorageCorrupt, match="writes up to 12 were acknowledged") as refused:
        await write(left, 0)
    command, source, target = str(refused.value).split()[-3:]
    assert command == "mv"
    shutil.move(source, target)

    with capture_logs() as logs:
        async with SqliteStorage.open(left, VirtualClock()) as storage:
            assert await storage.current_revision() == 12
            with pytest.raises(Compacted):
                async with storage.watch(PREFIX, after=11):
                    pass
            assert await storage.create(f"{PREFIX}new", b"x") == 13
            found = await storage.list(PREFIX)
            assert f"{PREFIX}first" in [item.key for item in found.items]
    assert logs[0]["event"] == "acknowledged writes are lost"
    await write(left, 0)


async def test_an_older_copy_of_the_file_is_refused(path: Path, tmp_path: Path) -> None:
    await write(path, 5)
    copy = path.read_bytes()
    async with SqliteStorage.open(path, VirtualClock()) as storage:
        await storage.create(f"{PREFIX}later", b"x")
    path.write_bytes(copy)

    with pytest.raises(StorageCorrupt, match="ends at revision 6, but writes up to 7"):
        await write(path, 0)


async def test_a_damaged_mark_is_reported_and_does_not_stop_the_store(path: Path) -> None:
    await write(path, 5)
    path.with_name("store.db.mark").write_bytes(b"nonsense")

    with capture_logs() as logs:
        await write(path, 0)

    assert [entry["event"] for entry in logs] == ["mark is damaged and begins anew"]


FORMAT_1 = (
    """CREATE TABLE log (
        revision INTEGER PRIMARY KEY, key TEXT NOT NULL, replaced INTEGER NOT NULL, expires REAL,
        value BLOB
    ) STRICT""",
    "CREATE TABLE state (compacted INTEGER NOT NULL) STRICT",
    "INSERT INTO state VALUES (0)",
    "INSERT INTO log VALUES (2, '/registry/things/a', 0, NULL, x'01')",
    "INSERT INTO log VALUES (3, '/registry/things/b', 0, NULL, x'02')",
    "INSERT INTO log VALUES (4, '/registry/things/b', 3, NULL, NULL)",
    f"PRAGMA application_id = {statements.APPLICATION_ID}",
    "PRAGMA user_version = 1",
)


async def test_a_file_without_checksums_is_opened_and_gets_them_from_then_on(path: Path) -> None:
    old = sqlite3.connect(path)
    for statement in FORMAT_1:
        old.execute(statement)
    old.commit()
    old.close()

    async with SqliteStorage.open(path, VirtualClock()) as storage:
        assert [item.value for item in (await storage.list(PREFIX)).items] == [b"\x01"]
        await storage.update(f"{PREFIX}a", b"value new" * 500, expected=2)
    flip(path, b"value new", b"value old")

    async with SqliteStorage.open(path, VirtualClock()) as storage:
        found = await storage.get(f"{PREFIX}a")
        assert found is not None and found.value == DAMAGED
