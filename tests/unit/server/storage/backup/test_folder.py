"""Backups of a SQLite store, and stores made of them."""

from __future__ import annotations

import asyncio
import sqlite3
import stat
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, closing
from pathlib import Path

import pytest

from proreus.aio.clock import SystemClock
from proreus.server.storage.backup.extent import Copied
from proreus.server.storage.backup.folder import StoreNotEmpty, back_up_folder, restore_folder
from proreus.server.storage.interface import (
    Change,
    Compacted,
    Storage,
    StorageError,
    StorageFull,
    StorageLocked,
    Unavailable,
)
from proreus.server.storage.progress import asking_for_progress
from proreus.server.storage.sqlite import SqliteStorage
from proreus.testing.virtual_clock import VirtualClock
from tests.faults.failing_disk import small_disk

PREFIX = "/registry/things/"


def no_progress(_share: float) -> None:
    """Nobody looks."""


@asynccontextmanager
async def opened(path: Path) -> AsyncIterator[SqliteStorage]:
    async with SqliteStorage.open(path, VirtualClock()) as storage:
        yield storage


def backed_up(path: Path, target: Path) -> Copied:
    return back_up_folder(path, target, no_progress)


def restored(backup: Path, path: Path, *, overwrite: bool = False, skipped: int = 0) -> Copied:
    return restore_folder(backup, path, overwrite=overwrite, skipped=skipped, progress=no_progress)


async def contents(storage: Storage, revision: int = 0) -> dict[str, tuple[int, bytes]]:
    page = await storage.list("/registry/", revision=revision)
    return {item.key: (item.revision, item.value) for item in page.items}


async def changes(storage: Storage, after: int) -> list[Change]:
    """Everything written after a revision, up to now."""
    found: list[Change] = []
    newest = await storage.current_revision()
    if after >= newest:
        return []
    async with (
        storage.watch("/registry/", after=after) as watch,
        asking_for_progress(storage, SystemClock()),
    ):
        async for batch in watch:
            found += batch.changes
            if batch.revision >= newest:
                return found
    raise AssertionError("a watch ends by itself")


async def write_a_history(storage: Storage) -> list[int]:
    """Objects created, changed, deleted and created again; the revisions of all writes."""
    a = await storage.create(PREFIX + "a", b"1")
    b = await storage.create(PREFIX + "b", b"1")
    a2 = await storage.update(PREFIX + "a", b"2", expected=a)
    gone = await storage.delete(PREFIX + "b", expected=b)
    again = await storage.create(PREFIX + "b", b"3")
    c = await storage.create(PREFIX + "c", b"1", ttl_s=600)
    last = await storage.delete(PREFIX + "a", expected=a2)
    return [a, b, a2, gone, again, c, last]


async def test_a_store_made_of_a_backup_has_the_objects_the_revisions_and_the_past(
    tmp_path: Path,
) -> None:
    """Guarantee: resumable"""
    path, backup, other = tmp_path / "store.db", tmp_path / "backup", tmp_path / "new" / "store.db"
    async with opened(path) as storage:
        revisions = await write_a_history(storage)
        present = await contents(storage)
        past = {revision: await contents(storage, revision) for revision in revisions}
        since = {revision: await changes(storage, revision) for revision in revisions}
        made = backed_up(path, backup)

    back = restored(backup, other)

    assert (made.objects, made.extent.revision) == (2, revisions[-1])
    assert back == made
    assert back.is_resumable
    async with opened(other) as storage:
        assert await contents(storage) == present
        assert {r: await contents(storage, r) for r in revisions} == past
        assert {r: await changes(storage, r) for r in revisions} == since
        assert await storage.create(PREFIX + "next", b"") == revisions[-1] + 1


async def test_a_key_that_ends_still_ends_after_a_restore(tmp_path: Path) -> None:
    clock = VirtualClock()
    async with SqliteStorage.open(tmp_path / "store.db", clock) as storage:
        await storage.create(PREFIX + "short", b"1", ttl_s=600)
        backed_up(tmp_path / "store.db", tmp_path / "backup")
    restored(tmp_path / "backup", tmp_path / "new.db")

    async with SqliteStorage.open(tmp_path / "new.db", clock) as storage:
        assert await storage.count(PREFIX) == 1
        async with storage.watch(PREFIX, after=await storage.current_revision()) as watch:
            await clock.advance(601)
            (change,) = (await anext(watch)).changes
        assert change.new is None


async def test_compacted_history_is_as_far_away_after_a_restore(tmp_path: Path) -> None:
    async with opened(tmp_path / "store.db") as storage:
        revisions = await write_a_history(storage)
        await storage.compact(revisions[3])
        backed_up(tmp_path / "store.db", tmp_path / "backup")
    restored(tmp_path / "backup", tmp_path / "new.db")

    async with opened(tmp_path / "new.db") as storage:
        assert storage.compacted_revision == revisions[3]
        assert [c.revision for c in await changes(storage, revisions[3])] == revisions[4:]
        with pytest.raises(Compacted):
            await changes(storage, revisions[2])


async def test_a_backup_of_a_store_that_is_written_to_is_the_state_of_one_moment(
    tmp_path: Path,
) -> None:
    path, writers = tmp_path / "store.db", 4
    async with opened(path) as storage:
        is_over = False

        async def write(writer: int) -> None:
            """Each adds one object after the other: a moment has all up to some."""
            number = 0
            while not is_over:
                await storage.create(f"{PREFIX}{writer}/{number}", bytes(2_000))
                number += 1

        async with asyncio.TaskGroup() as group:
            for writer in range(writers):
                group.create_task(write(writer))
            made = [
                await asyncio.to_thread(backed_up, path, tmp_path / f"backup-{number}")
                for number in range(5)
            ]
            is_over = True
        history = await changes(storage, 1)

    assert made[0].extent.revision < made[-1].extent.revision
    for number, one in enumerate(made):
        restored(tmp_path / f"backup-{number}", tmp_path / f"new-{number}.db")
        async with opened(tmp_path / f"new-{number}.db") as storage:
            newest = one.extent.revision
            assert await changes(storage, 1) == [c for c in history if c.revision <= newest]


async def test_a_store_with_objects_is_replaced_only_if_that_is_asked_for(tmp_path: Path) -> None:
    """Guarantee: resumable"""
    path, backup = tmp_path / "store.db", tmp_path / "backup"
    async with opened(path) as storage:
        await storage.create(PREFIX + "kept", b"1")
        old = backed_up(path, backup).extent.revision
        later = await storage.create(PREFIX + "later", b"1")

    with pytest.raises(StoreNotEmpty, match="has objects"):
        restored(backup, path)
    async with opened(path) as storage:
        assert await storage.count(PREFIX) == 2

    made = restored(backup, path, overwrite=True)

    assert not made.is_resumable
    async with opened(path) as storage:
        assert set(await contents(storage)) == {PREFIX + "kept"}
        assert await storage.current_revision() == made.extent.revision > later
        for seen in (old, later):
            with pytest.raises(Compacted):
                await changes(storage, seen)
        assert await storage.create(PREFIX + "new", b"") > later


async def test_where_a_store_was_removed_its_mark_says_what_clients_have_seen(
    tmp_path: Path,
) -> None:
    path, backup = tmp_path / "store.db", tmp_path / "backup"
    async with opened(path) as storage:
        await storage.create(PREFIX + "kept", b"1")
        backed_up(path, backup)
        later = await storage.create(PREFIX + "later", b"1")
    path.unlink()

    made = restored(backup, path)

    assert not made.is_resumable
    assert made.extent.revision > later


async def test_a_backup_that_is_older_than_what_clients_saw_can_begin_behind_it(
    tmp_path: Path,
) -> None:
    async with opened(tmp_path / "store.db") as storage:
        revision = (await write_a_history(storage))[-1]
        backed_up(tmp_path / "store.db", tmp_path / "backup")

    made = restored(tmp_path / "backup", tmp_path / "new.db", skipped=1_000)

    assert made.extent.revision == made.extent.compacted == revision + 1_000
    assert not made.is_resumable


async def test_a_damaged_store_can_be_replaced(tmp_path: Path) -> None:
    path, backup = tmp_path / "store.db", tmp_path / "backup"
    async with opened(path) as storage:
        await storage.create(PREFIX + "kept", b"1")
        backed_up(path, backup)
        later = await storage.create(PREFIX + "later", b"1")
    path.write_bytes(path.read_bytes()[:10_000])

    with pytest.raises(StoreNotEmpty):
        restored(backup, path)
    made = restored(backup, path, overwrite=True)

    assert made.extent.revision > later
    async with opened(path) as storage:
        assert await storage.count(PREFIX) == 1


async def test_a_store_in_use_is_not_replaced(tmp_path: Path) -> None:
    async with opened(tmp_path / "store.db") as storage:
        await storage.create(PREFIX + "a", b"1")
        backed_up(tmp_path / "store.db", tmp_path / "backup")

        with pytest.raises(StorageLocked, match="is in use by process"):
            restored(tmp_path / "backup", tmp_path / "store.db", overwrite=True)


def newer(backup: Path) -> None:
    with closing(sqlite3.connect(backup)) as connection:
        connection.execute("PRAGMA user_version = 99")


def foreign(backup: Path) -> None:
    with closing(sqlite3.connect(backup)) as connection:
        connection.execute("PRAGMA application_id = 7")


def cut(backup: Path) -> None:
    backup.write_bytes(backup.read_bytes()[:-8192])


def no_database(backup: Path) -> None:
    backup.write_bytes(b"something else" * 1_000)


def without_a_row(backup: Path) -> None:
    with closing(sqlite3.connect(backup)) as connection:
        connection.execute("DELETE FROM log WHERE revision = 3")
        connection.commit()


def other_key(backup: Path) -> None:
    with closing(sqlite3.connect(backup)) as connection:
        connection.execute("UPDATE log SET key = '/registry/things/x' WHERE revision = 2")
        connection.commit()


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (newer, "newer version"),
        (foreign, "another program"),
        (cut, "damaged"),
        (no_database, "no database"),
        (without_a_row, "are missing"),
        (other_key, "does not match its checksum"),
        (Path.unlink, "there is no file"),
    ],
)
async def test_what_is_no_whole_backup_is_refused_and_nothing_is_changed(
    tmp_path: Path, change: object, words: str
) -> None:
    async with opened(tmp_path / "store.db") as storage:
        await write_a_history(storage)
        backed_up(tmp_path / "store.db", tmp_path / "backup")
    assert callable(change)
    change(tmp_path / "backup")

    with pytest.raises(StorageError, match=words):
        restored(tmp_path / "backup", tmp_path / "new" / "store.db")

    assert not (tmp_path / "new" / "store.db").exists()
    assert not list(tmp_path.glob("new/.*"))


async def test_a_damaged_value_is_named_and_stays_known_as_damaged(tmp_path: Path) -> None:
    async with opened(tmp_path / "store.db") as storage:
        await storage.create(PREFIX + "good", b"good")
        await storage.create(PREFIX + "bad", b"a value on disk")
    with closing(sqlite3.connect(tmp_path / "store.db")) as connection:
        connection.execute("UPDATE log SET value = x'00' WHERE key LIKE '%bad'")
        connection.commit()

    made = backed_up(tmp_path / "store.db", tmp_path / "backup")

    assert made.damaged == (PREFIX + "bad",)
    assert restored(tmp_path / "backup", tmp_path / "new.db").damaged == made.damaged
    async with opened(tmp_path / "new.db") as storage:
        assert {key: value for key, (_, value) in (await contents(storage)).items()} == {
            PREFIX + "good": b"good",
            PREFIX + "bad": b"",
        }


async def test_a_file_of_the_first_format_is_backed_up_and_gets_checksums(tmp_path: Path) -> None:
    async with opened(tmp_path / "store.db") as storage:
        await write_a_history(storage)
        present = await contents(storage)
    with closing(sqlite3.connect(tmp_path / "store.db")) as connection:
        connection.execute("ALTER TABLE log DROP COLUMN checksum")
        connection.execute("PRAGMA user_version = 1")
        connection.commit()

    backed_up(tmp_path / "store.db", tmp_path / "backup")

    with closing(sqlite3.connect(tmp_path / "backup")) as connection:
        (without,) = connection.execute(
            "SELECT count(*) FROM log WHERE checksum IS NULL"
        ).fetchone()
    assert without == 0
    restored(tmp_path / "backup", tmp_path / "new.db")
    async with opened(tmp_path / "new.db") as storage:
        assert await contents(storage) == present


async def test_a_backup_is_private_replaces_an_older_one_and_no_other_file(
    tmp_path: Path,
) -> None:
    path, backup, notes = tmp_path / "store.db", tmp_path / "backup", tmp_path / "notes"
    notes.write_text("mine")
    async with opened(path) as storage:
        await storage.create(PREFIX + "a", b"1")
        first = backed_up(path, backup)
        await storage.create(PREFIX + "b", b"1")
        second = backed_up(path, backup)
        with pytest.raises(Unavailable, match="is no backup"):
            backed_up(path, notes)
        with pytest.raises(Unavailable, match="is the store itself"):
            backed_up(path, path)

    assert (first.objects, second.objects) == (1, 2)
    assert stat.S_IMODE(backup.stat().st_mode) == 0o600
    assert notes.read_text() == "mine"
    assert sorted(p.name for p in tmp_path.iterdir() if not p.name.startswith("store.db")) == [
        "backup",
        "notes",
    ]


async def test_a_full_disk_leaves_the_older_backup_and_no_part_of_a_new_one(
    tmp_path: Path,
) -> None:
    path = tmp_path / "store.db"
    with small_disk(tmp_path / "disk", 2) as disk:
        async with opened(path) as storage:
            await storage.create(PREFIX + "a", b"1")
            backed_up(path, disk / "backup")
            before = (disk / "backup").read_bytes()
            for number in range(200):
                await storage.create(f"{PREFIX}large-{number}", bytes(20_000))

            with pytest.raises(StorageFull, match=r"^no space left for .*/disk/backup$"):
                backed_up(path, disk / "backup")

        assert [file.name for file in disk.iterdir()] == ["backup"]
        assert (disk / "backup").read_bytes() == before


async def test_an_empty_store_has_an_empty_backup(tmp_path: Path) -> None:
    async with opened(tmp_path / "store.db"):
        made = backed_up(tmp_path / "store.db", tmp_path / "backup")

    assert made.objects == 0
    assert restored(tmp_path / "backup", tmp_path / "new.db").is_resumable


async def test_a_missing_store_is_said_to_be(tmp_path: Path) -> None:
    with pytest.raises(Unavailable, match="there is no file"):
        backed_up(tmp_path / "nothing.db", tmp_path / "backup")
    assert not list(tmp_path.iterdir())
