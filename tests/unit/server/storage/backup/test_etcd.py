"""From SQLite to a real etcd and back: every revision is kept, or nobody resumes."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from proreus.aio.clock import SystemClock
from proreus.server.storage.backup.etcd import back_up_etcd
from proreus.server.storage.backup.extent import Copied, Progress
from proreus.server.storage.backup.folder import StoreNotEmpty, back_up_folder, restore_folder
from proreus.server.storage.backup.replay import restore_etcd
from proreus.server.storage.etcd import EtcdConfig, EtcdStorage
from proreus.server.storage.interface import Compacted, Storage, Unavailable
from proreus.server.storage.sqlite import SqliteStorage
from proreus.testing.virtual_clock import VirtualClock
from tests.real_etcd import EtcdCluster, started_etcd
from tests.unit.server.storage.backup.test_folder import (
    PREFIX,
    changes,
    contents,
    no_progress,
    opened,
    write_a_history,
)


@pytest.fixture
def etcd() -> Iterator[EtcdCluster]:
    """A new one: how far it has counted matters here."""
    with started_etcd() as cluster:
        yield cluster


@asynccontextmanager
async def in_etcd(etcd: EtcdCluster) -> AsyncIterator[EtcdStorage]:
    async with EtcdStorage.open(EtcdConfig(etcd.endpoints), SystemClock()) as storage:
        yield storage


async def into_etcd(
    backup: Path,
    etcd: EtcdCluster,
    *,
    overwrite: bool = False,
    progress: Progress = no_progress,
) -> Copied:
    return await restore_etcd(
        backup,
        EtcdConfig(etcd.endpoints),
        SystemClock(),
        overwrite=overwrite,
        skipped=0,
        progress=progress,
    )


def into_folder(backup: Path, path: Path) -> None:
    restore_folder(backup, path, overwrite=False, skipped=0, progress=no_progress)


async def from_etcd(etcd: EtcdCluster, target: Path) -> Copied:
    return await back_up_etcd(EtcdConfig(etcd.endpoints), target, SystemClock(), no_progress)


async def backup_of_a_history(folder: Path, *, is_compacted: bool = False) -> Path:
    """With changes whose objects are gone; forgotten if ``is_compacted``."""
    async with SqliteStorage.open(folder / "store.db", SystemClock()) as storage:
        await write_a_history(storage)
        for number in range(200):
            revision = await storage.create(f"{PREFIX}passing-{number}", b"")
            await storage.delete(f"{PREFIX}passing-{number}", expected=revision)
        if is_compacted:
            await storage.compact(await storage.current_revision())
        await write_a_history_again(storage)
        back_up_folder(folder / "store.db", folder / "backup", no_progress)
    return folder / "backup"


async def write_a_history_again(storage: Storage) -> list[int]:
    a = await storage.create(PREFIX + "a", b"4")
    current = await storage.get(PREFIX + "b")
    assert current is not None
    b = await storage.update(PREFIX + "b", b"5", expected=current.revision)
    return [a, b, await storage.delete(PREFIX + "a", expected=a)]


async def everything(storage: Storage, oldest: int, newest: int) -> object:
    """The present, and what a watch gets that resumes from one of some revisions."""
    since = {oldest, oldest + 1, oldest + 2, (oldest + newest) // 2, newest - 2, newest - 1}
    return await contents(storage), {
        after: [change for change in await changes(storage, after) if change.revision <= newest]
        for after in since
    }


@pytest.mark.parametrize("compacted", [False, True], ids=["all of history", "compacted"])
async def test_in_an_etcd_every_object_and_every_change_has_its_revision(
    tmp_path: Path, etcd: EtcdCluster, compacted: bool
) -> None:
    """Guarantee: resumable"""
    backup = await backup_of_a_history(tmp_path, is_compacted=compacted)

    made = await into_etcd(backup, etcd)

    assert made.is_resumable
    into_folder(backup, tmp_path / "same.db")
    async with opened(tmp_path / "same.db") as source, in_etcd(etcd) as storage:
        oldest = max(1, source.compacted_revision)
        assert bool(source.compacted_revision) == compacted
        assert storage.compacted_revision == source.compacted_revision
        newest = await source.current_revision()
        assert await everything(storage, oldest, newest) == await everything(source, oldest, newest)
        if compacted:
            with pytest.raises(Compacted):
                await changes(storage, oldest - 1)
        assert await storage.create(PREFIX + "next", b"") > made.extent.revision


async def test_from_an_etcd_every_object_and_every_change_has_its_revision(
    tmp_path: Path, etcd: EtcdCluster
) -> None:
    """Guarantee: resumable"""
    async with in_etcd(etcd) as storage:
        await write_a_history(storage)
        etcd.etcdctl("put", "another-programs", "value")
        revisions = await write_a_history_again(storage)
        etcd.etcdctl("put", "another-programs", "value")

        made = await from_etcd(etcd, tmp_path / "backup")
        into_folder(tmp_path / "backup", tmp_path / "new.db")

        assert made.extent.revision > revisions[-1], "the newest write is no object's"
        async with opened(tmp_path / "new.db") as restored:
            assert await restored.current_revision() == made.extent.revision
            assert await contents(restored) == await contents(storage)
            for after in range(1, revisions[-1]):
                found = await changes(storage, after)
                assert await changes(restored, after) == found


async def test_there_and_back_again(tmp_path: Path, etcd: EtcdCluster) -> None:
    backup = await backup_of_a_history(tmp_path, is_compacted=True)
    await into_etcd(backup, etcd)

    await from_etcd(etcd, tmp_path / "backup of etcd")
    into_folder(tmp_path / "backup of etcd", tmp_path / "new.db")

    into_folder(backup, tmp_path / "same.db")
    async with opened(tmp_path / "same.db") as source, opened(tmp_path / "new.db") as storage:
        oldest = source.compacted_revision
        assert await contents(storage) == await contents(source)
        assert await changes(storage, oldest) == await changes(source, oldest)


async def test_keys_of_a_lease_that_ended_at_once_and_of_one_that_will_end(
    tmp_path: Path, etcd: EtcdCluster
) -> None:
    """etcd removes all keys of a lease in one transaction, which has one revision."""
    async with in_etcd(etcd) as storage:
        before = await storage.create(PREFIX + "kept", b"1")
        lease = etcd.etcdctl("lease", "grant", "600").split()[1]
        for name in ("a", "b", "c"):
            etcd.etcdctl("put", f"--lease={lease}", f"{PREFIX}{name}", "short")
        etcd.etcdctl("lease", "revoke", lease)
        after = await storage.create(PREFIX + "later", b"1", ttl_s=600)
        last = await storage.create(PREFIX + "last", b"1")

        made = await from_etcd(etcd, tmp_path / "backup")

    assert made.objects == 3
    assert before < made.extent.compacted == after - 1
    into_folder(tmp_path / "backup", tmp_path / "new.db")
    clock = VirtualClock(SystemClock().now())
    async with SqliteStorage.open(tmp_path / "new.db", clock) as restored:
        assert [c.revision for c in await changes(restored, after - 1)] == [after, last]
        async with restored.watch(PREFIX, after=last) as watch:
            await clock.advance(700)
            (ended,) = (await anext(watch)).changes
        assert (ended.key, ended.new) == (PREFIX + "later", None)


async def test_an_etcd_that_counted_further_is_refused_or_every_client_lists_again(
    tmp_path: Path, etcd: EtcdCluster
) -> None:
    """Guarantee: resumable"""
    backup = await backup_of_a_history(tmp_path)
    for _ in range(10):
        etcd.etcdctl("put", "another-programs", "value")

    with pytest.raises(Unavailable, match="cannot give these revisions any more"):
        await into_etcd(backup, etcd)
    made = await into_etcd(backup, etcd, overwrite=True)

    assert not made.is_resumable
    async with opened(tmp_path / "store.db") as source, in_etcd(etcd) as storage:
        known = await source.current_revision()
        assert await storage.current_revision() > known
        assert {key: value for key, (_, value) in (await contents(storage)).items()} == {
            key: value for key, (_, value) in (await contents(source)).items()
        }
        with pytest.raises(Compacted):
            await changes(storage, known)


async def test_an_etcd_with_objects_is_replaced_only_if_that_is_asked_for(
    tmp_path: Path, etcd: EtcdCluster
) -> None:
    backup = await backup_of_a_history(tmp_path)
    async with in_etcd(etcd) as storage:
        await storage.create(PREFIX + "old", b"1")

        with pytest.raises(StoreNotEmpty, match="has objects"):
            await into_etcd(backup, etcd)
        assert await storage.count(PREFIX) == 1
        made = await into_etcd(backup, etcd, overwrite=True)

        assert set(await contents(storage)) == {PREFIX + "b", PREFIX + "c"}
        assert made.objects == 2


async def test_another_writer_is_noticed(tmp_path: Path, etcd: EtcdCluster) -> None:
    backup = await backup_of_a_history(tmp_path)

    def write_too(_share: float) -> None:
        etcd.etcdctl("put", "another-programs", "value")

    with pytest.raises(Unavailable, match="another program writes to it"):
        await into_etcd(backup, etcd, progress=write_too)
