"""Three members, writers and a watch; the leader is killed, a member freezes: nothing is lost."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from proreus.aio.clock import SystemClock
from proreus.aio.tasks import background
from proreus.server.storage.etcd import EtcdConfig, EtcdStorage
from proreus.server.storage.interface import (
    Change,
    KeyExists,
    RevisionConflict,
    StoredValue,
    Unavailable,
)
from tests.real_etcd import EtcdCluster, running_etcd

PREFIX = "/registry/counters/"
WRITERS = 10
WITHIN_S = 60


@pytest.fixture
async def cluster() -> AsyncIterator[EtcdCluster]:
    async with running_etcd(members=3) as running:
        yield running


class Load:
    """Writers that count up keys of their own, and a watch that resumes whenever it is lost."""

    def __init__(self, storage: EtcdStorage) -> None:
        self.storage = storage
        self.acknowledged: dict[str, StoredValue] = {}
        self.changes: list[Change] = []
        self.unknown = 0
        self.resumed = 0
        self.progress = asyncio.Event()
        self.may_write = asyncio.Event()
        self.may_write.set()
        self.under_way = 0

    async def count_up(self, writer: int) -> None:
        key, current = f"{PREFIX}{writer}", None
        while True:
            await self.may_write.wait()
            self.under_way += 1
            current = await self._written(key, current)
            self.under_way -= 1
            self.progress.set()

    async def _written(self, key: str, current: StoredValue | None) -> StoredValue | None:
        """Count once more: what is known of the key then."""
        number = int(current.value) + 1 if current else 0
        try:
            if current is None:
                revision = await self.storage.create(key, b"%d" % number)
            else:
                revision = await self.storage.update(key, b"%d" % number, expected=current.revision)
        except Unavailable:
            self.unknown += 1
            return current  # it may be written or not: the next comparison tells
        except (KeyExists, RevisionConflict) as found:
            return found.current
        self.acknowledged[key] = StoredValue(key, b"%d" % number, revision)
        return self.acknowledged[key]

    @asynccontextmanager
    async def at_rest(self) -> AsyncIterator[None]:
        """Nothing is being written meanwhile."""
        self.may_write.clear()
        async with asyncio.timeout(WITHIN_S):
            while self.under_way:
                self.progress.clear()
                await self.progress.wait()
        yield
        self.may_write.set()

    async def follow(self, after: int) -> None:
        while True:
            try:
                async with self.storage.watch(PREFIX, after=after) as watch:
                    async for batch in watch:
                        self.changes += batch.changes
                        after = batch.revision
                        self.progress.set()
            except Unavailable:
                self.resumed += 1

    async def wait_writes(self, count: int) -> None:
        """Until every writer has counted ``count`` further."""
        wanted = {
            f"{PREFIX}{writer}": count + self.number(f"{PREFIX}{writer}")
            for writer in range(WRITERS)
        }
        async with asyncio.timeout(WITHIN_S):
            while any(self.number(key) < number for key, number in wanted.items()):
                self.progress.clear()
                await self.progress.wait()

    def number(self, key: str) -> int:
        found = self.acknowledged.get(key)
        return int(found.value) if found else -1

    async def wait_watched(self, revision: int) -> None:
        async with asyncio.timeout(WITHIN_S):
            while not self.changes or self.changes[-1].revision < revision:
                self.progress.clear()
                await self.progress.wait()


async def check(load: Load) -> None:
    """Every acknowledged write is there, and the watch sent each write once, in order."""
    page = await load.storage.list(PREFIX)
    stored = {item.key: item for item in page.items}
    for key, last in load.acknowledged.items():
        assert stored[key].revision >= last.revision
        assert int(stored[key].value) >= int(last.value)
    await load.wait_watched(max(item.revision for item in page.items))
    revisions = [change.revision for change in load.changes]
    assert revisions == sorted(set(revisions))
    state: dict[str, StoredValue] = {}
    for change in load.changes:
        if change.revision <= page.revision:
            assert change.new is not None
            assert change.old == state.get(change.key)
            assert int(change.new.value) == (int(change.old.value) + 1 if change.old else 0)
            state[change.key] = change.new
    assert state == stored


@asynccontextmanager
async def loaded(cluster: EtcdCluster) -> AsyncIterator[Load]:
    """A load on the cluster, checked when the body is done with its faults."""
    config = EtcdConfig(cluster.endpoints, attempt_timeout_s=2, request_timeout_s=10)
    async with EtcdStorage.open(config, SystemClock()) as storage:
        load = Load(storage)
        async with background(load.follow(await storage.current_revision())):
            async with background(*(load.count_up(writer) for writer in range(WRITERS))):
                await load.wait_writes(20)
                yield load
            await check(load)


async def test_killing_the_leader_loses_no_write_and_no_event() -> None:
    """Guarantee: durable. Nobody comes back, see ``EtcdCluster.kill``; there are enough."""
    async with running_etcd(members=5) as cluster, loaded(cluster) as load:
        for _ in range(2):
            leader = await asyncio.to_thread(cluster.leader)
            cluster.kill(leader)
            await load.wait_writes(20)


async def test_a_frozen_leader_stops_nobody_for_long(cluster: EtcdCluster) -> None:
    async with loaded(cluster) as load:
        leader = await asyncio.to_thread(cluster.leader)
        cluster.pause(leader)
        try:
            await load.wait_writes(20)
        finally:
            cluster.resume(leader)
        await load.wait_writes(20)


async def test_a_frozen_member_holds_up_neither_writes_nor_the_watch_on_it(
    cluster: EtcdCluster,
) -> None:
    """Guarantee: reliable. Its connections stay open, so that only its silence gives it away."""
    async with loaded(cluster) as load:
        used = next(load.storage._client.in_turn()).url
        frozen = cluster.endpoints.index(used)
        cluster.pause(frozen)
        try:
            await load.wait_writes(20)
            await load.wait_watched(max(last.revision for last in load.acknowledged.values()))
        finally:
            cluster.resume(frozen)
        await load.wait_writes(20)


async def test_history_compacted_under_load_up_to_where_the_watch_is_loses_no_event(
    cluster: EtcdCluster,
) -> None:
    """Guarantee: reliable"""
    async with loaded(cluster) as load:
        for _ in range(5):
            await load.wait_writes(5)
            await load.wait_watched(1)  # something: the watch may be behind by any time
            await load.storage.compact(load.changes[-1].revision)
        await load.wait_writes(5)

        assert load.storage.compacted_revision > 0


async def test_without_a_majority_nothing_is_acknowledged_until_it_is_back(
    cluster: EtcdCluster,
) -> None:
    async with loaded(cluster) as load:
        async with load.at_rest():
            await asyncio.to_thread(cluster.wait_applied)
            cluster.kill(0)
            cluster.kill(1)
        unknown = load.unknown
        async with asyncio.timeout(WITHIN_S):
            while load.unknown < unknown + 2 * WRITERS:
                load.progress.clear()
                await load.progress.wait()
        before = dict(load.acknowledged)

        await asyncio.gather(cluster.restart(0), cluster.restart(1))
        await load.wait_writes(20)

        assert all(load.acknowledged[key].revision > before[key].revision for key in before)
