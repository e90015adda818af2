"""What only this store does: refusing, lagging, shrinking, closing."""

from __future__ import annotations

import asyncio
import sqlite3
import threading
from collections.abc import AsyncIterator, Sequence
from pathlib import Path

import pytest

from proreus.aio.tasks import background
from proreus.server.storage.change_log import ChangeLog
from proreus.server.storage.interface import (
    Change,
    KeyExists,
    RevisionConflict,
    StorageBroken,
    StorageError,
    StorageFull,
    StoredValue,
    Unavailable,
)
from proreus.server.storage.sqlite import SqliteStorage
from proreus.server.storage.sqlite.database import Database
from proreus.server.storage.sqlite.rows import Row
from proreus.testing.virtual_clock import VirtualClock

PREFIX = "/registry/things/"


@pytest.fixture
def clock() -> VirtualClock:
    return VirtualClock()


@pytest.fixture
async def storage(tmp_path: Path, clock: VirtualClock) -> AsyncIterator[SqliteStorage]:
    async with SqliteStorage.open(tmp_path / "store.db", clock) as opened:
        yield opened


class FailingDisk:
    """Makes the next commits fail as a disk does, then works again."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.failures: list[StorageError] = []
        self.failed = threading.Event()
        self.commits = 0
        write = Database.write

        def fail_or_write(
            database: Database, rows: Sequence[Row], old_of: Sequence[int]
        ) -> dict[int, bytes]:
            if self.failures:
                self.failed.set()
                raise self.failures.pop(0)
            self.commits += 1
            return write(database, rows, old_of)

        monkeypatch.setattr(Database, "write", fail_or_write)


@pytest.fixture
def disk(monkeypatch: pytest.MonkeyPatch) -> FailingDisk:
    return FailingDisk(monkeypatch)


async def test_writes_of_one_turn_are_one_commit(disk: FailingDisk, storage: SqliteStorage) -> None:
    revisions = await asyncio.gather(
        *(storage.create(f"{PREFIX}{number}", b"x") for number in range(200))
    )

    assert revisions == list(range(2, 202))
    assert disk.commits == 1


async def test_a_refused_commit_refuses_all_that_was_pending_and_nothing_else(
    disk: FailingDisk, storage: SqliteStorage
) -> None:
    kept = await storage.create(PREFIX + "kept", b"x")
    disk.failures.append(StorageFull("full"))

    results = await asyncio.gather(
        storage.create(PREFIX + "a", b"x"),
        storage.update(PREFIX + "kept", b"y", expected=kept),
        storage.create(PREFIX + "a", b"late"),
        storage.delete(PREFIX + "kept", expected=kept),
        return_exceptions=True,
    )

    # The last two lost against writes that never happened: they are refused, not misinformed.
    assert [type(result) for result in results] == [StorageFull] * 4
    assert await storage.create(PREFIX + "a", b"x") == kept + 1
    assert await storage.get(PREFIX + "kept") == StoredValue(PREFIX + "kept", b"x", kept)


async def test_writes_queued_behind_a_refused_commit_are_refused_with_it(
    disk: FailingDisk, storage: SqliteStorage
) -> None:
    disk.failures.append(StorageFull("full"))

    async def write_later(turns: int) -> int:
        for _ in range(turns):
            await asyncio.sleep(0)
        return await storage.create(f"{PREFIX}{turns}", b"x")

    results = await asyncio.gather(*map(write_later, range(30)), return_exceptions=True)
    refused = [turns for turns, result in enumerate(results) if isinstance(result, StorageFull)]
    written = [result for result in results if isinstance(result, int)]

    assert refused
    assert len(refused) + len(written) == 30
    assert written == list(range(2, 2 + len(written)))
    assert await storage.count(PREFIX) == len(written)


async def test_a_disk_that_fails_in_doubt_stops_all_writes(
    disk: FailingDisk, storage: SqliteStorage
) -> None:
    kept = await storage.create(PREFIX + "kept", b"x")
    disk.failures.append(StorageBroken("the disk failed"))

    with pytest.raises(Unavailable, match="the disk failed"):
        await storage.create(PREFIX + "a", b"x")
    with pytest.raises(Unavailable, match="the disk failed"):
        await storage.create(PREFIX + "b", b"x")

    assert await storage.get(PREFIX + "kept") == StoredValue(PREFIX + "kept", b"x", kept)
    assert "the disk failed" in repr(storage)


async def test_a_lost_race_is_reported_only_after_the_winner_is_on_disk(
    storage: SqliteStorage,
) -> None:
    first = asyncio.ensure_future(storage.create(PREFIX + "a", b"first"))
    second = asyncio.ensure_future(storage.create(PREFIX + "a", b"second"))

    with pytest.raises(KeyExists) as raised:
        await second

    assert first.done()
    assert raised.value.current == StoredValue(PREFIX + "a", b"first", await first)


async def test_a_writer_that_gives_up_takes_no_answer_from_others(storage: SqliteStorage) -> None:
    first = asyncio.ensure_future(storage.create(PREFIX + "a", b"first"))
    second = asyncio.ensure_future(storage.create(PREFIX + "a", b"second"))
    await asyncio.sleep(0)
    first.cancel()

    with pytest.raises(KeyExists):
        await second


async def test_a_delete_and_a_create_of_one_turn_follow_each_other(
    storage: SqliteStorage,
) -> None:
    created = await storage.create(PREFIX + "a", b"1")
    async with storage.watch(PREFIX, after=created) as watch:
        deleted, again = await asyncio.gather(
            storage.delete(PREFIX + "a", expected=created), storage.create(PREFIX + "a", b"2")
        )
        changes = (await anext(watch)).changes

    assert [(change.revision, change.old is None) for change in changes] == [
        (deleted, False),
        (again, True),
    ]
    with pytest.raises(RevisionConflict):
        await storage.update(PREFIX + "a", b"3", expected=created)


async def test_an_update_of_a_write_that_is_still_pending_sees_its_value(
    storage: SqliteStorage,
) -> None:
    created = await storage.create(PREFIX + "a", b"1")
    async with storage.watch(PREFIX, after=created) as watch:
        await asyncio.gather(
            storage.update(PREFIX + "a", b"2", expected=created),
            storage.update(PREFIX + "a", b"3", expected=created + 1),
        )
        changes = (await anext(watch)).changes

    assert [change.old.value for change in changes if change.old] == [b"1", b"2"]


async def test_a_watch_that_lags_far_behind_reads_from_disk(
    storage: SqliteStorage, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Guarantee: reliable"""
    monkeypatch.setattr(storage, "_log", ChangeLog(1, bytes_max=50_000))
    async with storage.watch(PREFIX, after=1) as watch:
        revision = await storage.create(PREFIX + "a", bytes(1_000))
        for _ in range(300):
            revision = await storage.update(PREFIX + "a", bytes(1_000), expected=revision)
        changes: list[Change] = []
        while len(changes) < 301:
            changes += (await anext(watch)).changes

    assert [change.revision for change in changes] == list(range(2, 303))
    assert all(change.old and change.old.revision == change.revision - 1 for change in changes[1:])


async def test_a_watch_opened_while_writes_are_on_their_way_misses_none(
    storage: SqliteStorage,
) -> None:
    """Guarantee: reliable"""
    writes = [asyncio.ensure_future(storage.create(f"{PREFIX}{n}", b"x")) for n in range(10)]
    for _ in range(3):
        await asyncio.sleep(0)

    async with storage.watch(PREFIX, after=1) as watch:
        changes: list[Change] = []
        while len(changes) < 10:
            changes += (await anext(watch)).changes

    await asyncio.gather(*writes)
    assert [change.revision for change in changes] == list(range(2, 12))


async def test_compaction_gives_space_back_to_the_disk(
    storage: SqliteStorage, tmp_path: Path
) -> None:
    path = tmp_path / "store.db"
    for _ in range(10):
        await asyncio.gather(
            *(storage.create(f"{PREFIX}{number}", bytes(5_000)) for number in range(200))
        )
        page = await storage.list(PREFIX)
        await asyncio.gather(
            *(storage.delete(item.key, expected=item.revision) for item in page.items)
        )
    await storage.checkpoint()
    before = path.stat().st_size

    await storage.compact(await storage.current_revision())
    await storage.checkpoint()

    assert before > 8_000_000
    assert path.stat().st_size < before / 4


async def test_a_compaction_that_the_disk_refuses_is_finished_later(
    storage: SqliteStorage, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    revision = await storage.create(PREFIX + "a", b"0")
    for number in range(10):
        revision = await storage.update(PREFIX + "a", b"%d" % number, expected=revision)

    def full(database: Database, revisions: Sequence[int], *, is_full: bool) -> None:
        raise StorageFull("full")

    with monkeypatch.context() as patch:
        patch.setattr(Database, "drop", full)
        with pytest.raises(StorageFull):
            await storage.compact(revision - 2)
    await storage.compact(revision)

    left = sqlite3.connect(tmp_path / "store.db")
    assert left.execute("SELECT revision FROM log").fetchall() == [(revision,)]
    left.close()


async def test_an_expiry_that_the_disk_refuses_is_tried_again(
    disk: FailingDisk, storage: SqliteStorage, clock: VirtualClock
) -> None:
    await storage.create(PREFIX + "a", b"x", ttl_s=5)
    disk.failures.append(StorageFull("full"))
    await clock.advance(6)
    await asyncio.to_thread(disk.failed.wait)
    await storage.get(PREFIX + "a")  # by the same thread, so that the refusal has arrived
    with pytest.raises(KeyExists):
        await storage.create(PREFIX + "a", b"y")

    async with storage.watch(PREFIX, after=await storage.current_revision()) as watch:
        expired = asyncio.ensure_future(anext(watch))
        while not expired.done():
            await clock.advance(11)
            await asyncio.wait([expired], timeout=0.01)
        (change,) = expired.result().changes

    assert change.new is None


async def test_an_idle_store_is_checkpointed(
    storage: SqliteStorage, clock: VirtualClock, tmp_path: Path
) -> None:
    async with background(storage.run()):
        await asyncio.sleep(0)
        await storage.create(PREFIX + "a", bytes(500_000))
        size = (tmp_path / "store.db").stat().st_size

        async with asyncio.timeout(60):
            while (tmp_path / "store.db").stat().st_size <= size:
                await clock.advance(10)


async def test_a_closed_store_says_so(tmp_path: Path, clock: VirtualClock) -> None:
    async with SqliteStorage.open(tmp_path / "other.db", clock) as storage:
        await storage.create(PREFIX + "a", b"x")

    with pytest.raises(Unavailable, match="the store is closed"):
        await storage.create(PREFIX + "b", b"x")
    with pytest.raises(Unavailable, match="the store is closed"):
        await storage.get(PREFIX + "a")


async def test_writes_on_their_way_are_finished_before_closing(
    tmp_path: Path, clock: VirtualClock
) -> None:
    async with SqliteStorage.open(tmp_path / "other.db", clock) as storage:
        writes = [asyncio.ensure_future(storage.create(f"{PREFIX}{n}", b"x")) for n in range(10)]
        await asyncio.sleep(0)

    assert await asyncio.gather(*writes) == list(range(2, 12))
    async with SqliteStorage.open(tmp_path / "other.db", clock, synchronous="NORMAL") as storage:
        assert await storage.count(PREFIX) == 10
        assert repr(storage).endswith("other.db with 10 keys at revision 11, readable since 0>")
