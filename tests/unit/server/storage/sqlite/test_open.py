"""Opening a file: new, again, foreign, newer, torn, in use."""

from __future__ import annotations

import asyncio
import sqlite3
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from proreus.server.storage.interface import StorageCorrupt, StorageLocked, Unavailable
from proreus.server.storage.sqlite import SqliteStorage
from proreus.testing.virtual_clock import VirtualClock


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "store.db"


async def write(path: Path, count: int) -> int:
    async with SqliteStorage.open(path, VirtualClock()) as storage:
        for number in range(count):
            await storage.create(f"/registry/things/{number:04}", bytes(3_000))
        return await storage.current_revision()


async def opening(path: Path) -> None:
    async with SqliteStorage.open(path, VirtualClock()):
        pass


async def test_a_reopened_file_has_everything_and_counts_on(path: Path) -> None:
    async with SqliteStorage.open(path, VirtualClock()) as storage:
        first = await storage.create("/registry/a/1", b"one")
        second = await storage.update("/registry/a/1", b"two", expected=first)
        gone = await storage.create("/registry/a/2", b"gone")
        await storage.delete("/registry/a/2", expected=gone)
        before = await storage.current_revision()

    async with SqliteStorage.open(path, VirtualClock()) as storage:
        assert await storage.current_revision() == before
        assert [item.value for item in (await storage.list("/registry/a/")).items] == [b"two"]
        page = await storage.list("/registry/a/", revision=gone)
        assert [(item.revision, item.value) for item in page.items] == [
            (second, b"two"),
            (gone, b"gone"),
        ]
        async with storage.watch("/registry/", after=first) as watch:
            changes = (await anext(watch)).changes
        assert [change.revision for change in changes] == [second, gone, before]
        assert await storage.create("/registry/a/2", b"again") == before + 1


async def test_revisions_never_go_back_even_if_all_rows_are_compacted(path: Path) -> None:
    async with SqliteStorage.open(path, VirtualClock()) as storage:
        created = await storage.create("/registry/a/1", b"one")
        deleted = await storage.delete("/registry/a/1", expected=created)
        await storage.compact(deleted)

    async with SqliteStorage.open(path, VirtualClock()) as storage:
        assert await storage.current_revision() == deleted
        assert storage.compacted_revision == deleted


async def test_the_file_is_private_and_alone_after_closing(path: Path) -> None:
    await write(path, 3)

    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    beside = {"store.db.lock", "store.db.mark", "store.db.ballast"}
    assert {file.name for file in path.parent.iterdir()} == {"store.db", *beside}
    assert all(stat.S_IMODE(file.stat().st_mode) == 0o600 for file in path.parent.iterdir())


async def test_a_second_opener_is_refused(path: Path) -> None:
    async with SqliteStorage.open(path, VirtualClock()):
        with pytest.raises(StorageLocked, match=r"store\.db is in use by process \d+"):
            await opening(path)

    await opening(path)


async def test_a_second_process_is_refused(path: Path) -> None:
    script = (
        "import asyncio, sys\n"
        "from proreus.aio.clock import SystemClock\n"
        "from proreus.server.storage.sqlite import SqliteStorage\n"
        "async def main():\n"
        "    async with SqliteStorage.open(sys.argv[1], SystemClock()): pass\n"
        "asyncio.run(main())\n"
    )
    async with SqliteStorage.open(path, VirtualClock()):
        done = await asyncio.to_thread(
            subprocess.run, [sys.executable, "-c", script, str(path)], capture_output=True
        )

    assert done.returncode == 1
    assert b"StorageLocked" in done.stderr


async def test_a_text_file_is_no_database(path: Path) -> None:
    path.write_text("These are my notes, not a database.\n" * 1000)

    with pytest.raises(StorageCorrupt, match="is damaged or no database"):
        await opening(path)

    assert path.read_text().startswith("These are my notes")


async def test_the_database_of_another_program_is_left_alone(path: Path) -> None:
    foreign = sqlite3.connect(path)
    foreign.execute("CREATE TABLE notes (text)")
    foreign.commit()
    foreign.close()
    before = path.read_bytes()

    with pytest.raises(StorageCorrupt, match="belongs to another program"):
        await opening(path)

    assert path.read_bytes() == before


async def test_a_newer_file_is_left_alone(path: Path) -> None:
    await write(path, 1)
    newer = sqlite3.connect(path)
    newer.execute("PRAGMA user_version = 7")
    newer.close()

    with pytest.raises(StorageCorrupt, match="newer version \\(format 7, this one reads up to 2"):
        await opening(path)


@pytest.mark.parametrize("share", [0.1, 0.5, 0.9])
async def test_a_torn_file_is_refused(path: Path, share: float) -> None:
    await write(path, 200)
    whole = path.read_bytes()
    path.write_bytes(whole[: int(len(whole) * share)])

    with pytest.raises(StorageCorrupt, match="is damaged"):
        await opening(path)


async def test_a_file_with_overwritten_pages_is_refused(path: Path) -> None:
    await write(path, 200)
    whole = bytearray(path.read_bytes())
    whole[8192 * 5 : 8192 * 7] = bytes(8192 * 2)
    path.write_bytes(whole)

    with pytest.raises(StorageCorrupt, match="is damaged"):
        await opening(path)


async def test_a_file_with_missing_rows_is_refused(path: Path) -> None:
    async with SqliteStorage.open(path, VirtualClock()) as storage:
        first = await storage.create("/registry/a/1", b"one")
        await storage.update("/registry/a/1", b"two", expected=first)
    tampered = sqlite3.connect(path)
    tampered.execute("DELETE FROM log WHERE revision = ?", (first,))
    tampered.commit()
    tampered.close()

    with pytest.raises(StorageCorrupt, match="rows before 3 are missing"):
        await opening(path)


async def test_an_empty_file_and_a_first_start_that_was_cut_short_are_new_stores(
    path: Path,
) -> None:
    path.touch()
    await opening(path)
    path.unlink()
    started = sqlite3.connect(path)
    started.execute("PRAGMA journal_mode = WAL")
    started.close()

    await write(path, 1)


async def test_a_path_that_cannot_be_opened_says_why(tmp_path: Path) -> None:
    (tmp_path / "folder.db").mkdir()

    with pytest.raises(Unavailable, match="Is a directory"):
        await opening(tmp_path / "folder.db")
    with pytest.raises(Unavailable, match="No such file or directory"):
        await opening(tmp_path / "missing" / "store.db")


async def test_an_interrupted_compaction_is_finished_at_the_next_start(path: Path) -> None:
    async with SqliteStorage.open(path, VirtualClock()) as storage:
        revision = await storage.create("/registry/a/1", b"0")
        for number in range(20):
            revision = await storage.update("/registry/a/1", b"%d" % number, expected=revision)
    decided = sqlite3.connect(path)
    decided.execute("UPDATE state SET compacted = ?", (revision,))
    decided.commit()
    decided.close()

    async with SqliteStorage.open(path, VirtualClock()) as storage:
        assert storage.compacted_revision == revision

    left = sqlite3.connect(path)
    assert left.execute("SELECT revision FROM log").fetchall() == [(revision,)]
    left.close()


async def test_keys_that_end_do_so_after_a_restart_too(path: Path) -> None:
    clock = VirtualClock()
    async with SqliteStorage.open(path, clock) as storage:
        await storage.create("/registry/events/a", b"x", ttl_s=60)
        await storage.create("/registry/events/b", b"x", ttl_s=600)
        outdated = await storage.create("/registry/events/c", b"x", ttl_s=60)
        await storage.update("/registry/events/c", b"y", expected=outdated)

    await clock.advance(120)
    async with SqliteStorage.open(path, clock) as storage:
        async with storage.watch("/registry/", after=await storage.current_revision()) as watch:
            await clock.advance(1)
            (change,) = (await anext(watch)).changes
        assert (change.key, change.new) == ("/registry/events/a", None)
        left = [item.key for item in (await storage.list("/registry/events/")).items]

    assert left == ["/registry/events/b", "/registry/events/c"]
