"""Reads that share a request: each sees what was acknowledged before it began."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator
from typing import Any
from uuid import uuid4

import pytest

from proreus.aio.clock import SystemClock
from proreus.aio.tasks import background
from proreus.server.storage.etcd import EtcdConfig, EtcdStorage, messages
from proreus.server.storage.etcd.client import Method
from proreus.server.storage.etcd.shared_reads import SharedReads
from proreus.server.storage.interface import StorageFull, Unavailable
from tests.real_etcd import EtcdCluster, started_etcd


class Etcd:
    """Answers when told to. Every key has the revision at which it was asked for as its value."""

    def __init__(self) -> None:
        self.revision = 0
        self.asked: list[list[bytes]] = []
        self.answers: list[asyncio.Future[None]] = []
        self.is_full = False

    async def __call__(self, method: Method, request: Any) -> Any:
        self.revision += 1
        revision, is_txn = self.revision, method.answer is messages.TxnResponse
        ranges = [op.request_range for op in request.success] if is_txn else [request]
        self.asked.append([each.key for each in ranges])
        if self.is_full and is_txn:
            raise StorageFull("full")
        self.answers.append(asyncio.get_running_loop().create_future())
        await self.answers[-1]
        answer = method.answer()
        answer.header.revision = revision
        for each in ranges:
            found = answer.responses.add().response_range if is_txn else answer
            if not each.count_only and not each.key.startswith(b"absent"):
                kv = found.kvs.add()
                kv.key, kv.value, kv.mod_revision = each.key, b"%d" % revision, revision
        return answer


@pytest.fixture
def etcd() -> Etcd:
    return Etcd()


@pytest.fixture
async def reads(etcd: Etcd) -> AsyncIterator[SharedReads]:
    made = SharedReads(etcd)
    async with background(made.run()):
        yield made


async def turns() -> None:
    for _ in range(5):
        await asyncio.sleep(0)


async def test_who_asks_at_the_same_time_shares_a_request(etcd: Etcd, reads: SharedReads) -> None:
    asking = asyncio.gather(
        reads.read(b"a"),
        reads.read(b"b"),
        reads.read(b"a"),
        reads.read(b"absent"),
        reads.revision(),
    )
    await turns()
    etcd.answers[0].set_result(None)
    *found, revision = await asking

    assert etcd.asked == [[b"a", b"b", b"absent"]]
    assert [newest.kv and newest.kv.value for newest in found] == [b"1", b"1", b"1", None]
    assert revision == 1


async def test_who_asks_while_a_request_is_on_its_way_waits_for_the_next(
    etcd: Etcd, reads: SharedReads
) -> None:
    first = asyncio.ensure_future(reads.revision())
    await turns()
    later = [asyncio.ensure_future(reads.revision()) for _ in range(3)]
    await turns()
    assert len(etcd.asked) == 1

    etcd.answers[0].set_result(None)
    assert await first == 1
    await turns()
    assert not any(each.done() for each in later)
    etcd.answers[1].set_result(None)

    assert await asyncio.gather(*later) == [2, 2, 2]


async def test_more_keys_than_a_transaction_holds_take_several(
    etcd: Etcd, reads: SharedReads
) -> None:
    asking = [asyncio.ensure_future(reads.read(b"%d" % number)) for number in range(150)]
    for count in (1, 2, 3):
        await turns()
        assert len(etcd.answers) == count
        etcd.answers[-1].set_result(None)
    await asyncio.gather(*asking)

    assert [len(keys) for keys in etcd.asked] == [64, 64, 22]


async def test_a_reader_that_leaves_takes_nobody_with_it(etcd: Etcd, reads: SharedReads) -> None:
    leaving, staying = (asyncio.ensure_future(reads.revision()) for _ in range(2))
    await turns()
    leaving.cancel()
    await turns()
    etcd.answers[0].set_result(None)

    assert await staying == 1


async def test_a_failed_request_fails_its_own_readers_and_no_others(
    etcd: Etcd, reads: SharedReads
) -> None:
    first = asyncio.gather(reads.revision(), reads.read(b"a"), return_exceptions=True)
    await turns()
    later = asyncio.ensure_future(reads.revision())
    await turns()
    etcd.answers[0].set_exception(Unavailable("gone"))
    await turns()
    etcd.answers[1].set_result(None)

    assert [type(failure) for failure in await first] == [Unavailable, Unavailable]
    assert await later == 2


async def test_a_full_etcd_is_read_key_by_key(etcd: Etcd, reads: SharedReads) -> None:
    etcd.is_full = True
    asking = asyncio.gather(reads.read(b"a"), reads.read(b"b"))
    for count in (1, 2):
        await turns()
        etcd.answers[count - 1].set_result(None)
    found = await asking

    assert etcd.asked == [[b"a", b"b"], [b"a"], [b"b"]]
    assert [newest.kv.value for newest in found] == [b"2", b"3"]


async def test_the_end_fails_who_waits_and_who_comes_later(etcd: Etcd) -> None:
    reads = SharedReads(etcd)
    async with background(reads.run()):
        first = asyncio.ensure_future(reads.read(b"a"))
        await turns()
        second = asyncio.ensure_future(reads.read(b"b"))
        await turns()

    for waiting in (first, second, reads.read(b"c")):
        with pytest.raises(Unavailable, match="the store is closed"):
            await waiting


@pytest.fixture(scope="module")
def cluster() -> Iterator[EtcdCluster]:
    with started_etcd() as running:
        yield running


async def test_reads_are_linearizable_however_they_are_shared(cluster: EtcdCluster) -> None:
    """Counters of one writer each, read by two servers: no read is older than what was
    acknowledged when it began, and none is newer than what had been sent when it ended."""
    config = EtcdConfig(cluster.endpoints, attempt_timeout_s=30, request_timeout_s=60)
    place, clock = f"/registry/{uuid4().hex}/", SystemClock()
    sent, acknowledged = [0] * 5, [0] * 5
    newest_acknowledged = 0

    async with EtcdStorage.open(config, clock) as one, EtcdStorage.open(config, clock) as other:

        async def write(number: int) -> None:
            nonlocal newest_acknowledged
            key = f"{place}{number}"
            revision = await one.create(key, b"0")
            for count in range(1, 101):
                sent[number] = count
                revision = await one.update(key, b"%d" % count, expected=revision)
                acknowledged[number] = count
                newest_acknowledged = max(newest_acknowledged, revision)

        async def read(storage: EtcdStorage, reader: int) -> None:
            for step in range(100):
                number = (reader + step) % 5
                before, revision = acknowledged[number], newest_acknowledged
                if step % 3 == 0:
                    assert await storage.current_revision() >= revision
                    continue
                found = await storage.get(f"{place}{number}")
                if found is None:
                    assert before == 0
                    continue
                assert before <= int(found.value) <= sent[number]

        async with asyncio.timeout(60):
            await asyncio.gather(
                *(write(number) for number in range(5)),
                *(read(storage, reader) for reader in range(10) for storage in (one, other)),
            )

    assert acknowledged == [100] * 5
