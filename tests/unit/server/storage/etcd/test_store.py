"""What only etcd does: login, TLS, limits, several servers, fragments, lost connections."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Iterator
from dataclasses import replace
from uuid import uuid4

import pytest

from proreus.aio.clock import SystemClock
from proreus.aio.tasks import background
from proreus.server.storage.etcd import EtcdConfig, EtcdStorage, messages
from proreus.server.storage.etcd.client import TXN
from proreus.server.storage.etcd.compaction import Rounds
from proreus.server.storage.interface import (
    AccessDenied,
    Change,
    Compacted,
    InvalidKey,
    StorageFull,
    Unavailable,
    ValueTooLarge,
)
from proreus.server.storage.progress import asking_for_progress
from proreus.testing.virtual_clock import VirtualClock
from tests.real_etcd import EtcdCluster, running_etcd, started_etcd


@pytest.fixture(scope="module")
def etcd() -> Iterator[EtcdCluster]:
    with started_etcd() as cluster:
        yield cluster


@pytest.fixture
def config(etcd: EtcdCluster) -> EtcdConfig:
    """Patient: on a busy machine etcd may take seconds for anything."""
    return EtcdConfig(etcd.endpoints, attempt_timeout_s=30, request_timeout_s=60)


@pytest.fixture
async def storage(config: EtcdConfig) -> AsyncIterator[EtcdStorage]:
    async with EtcdStorage.open(config, SystemClock()) as opened:
        yield opened


@pytest.fixture
def place() -> str:
    return f"/registry/{uuid4().hex}/"


async def test_two_servers_share_one_etcd(config: EtcdConfig, place: str) -> None:
    clock = SystemClock()
    async with EtcdStorage.open(config, clock) as one, EtcdStorage.open(config, clock) as other:
        async with other.watch(place, after=await other.current_revision()) as watch:
            written = await one.create(place + "a", b"x")
            async with asyncio.timeout(60):
                batch = await anext(watch)

        assert [change.revision for change in batch.changes] == [written]
        assert (await other.get(place + "a", at_least=written)) is not None


async def test_the_keys_are_where_kubernetes_looks_for_them(
    storage: EtcdStorage, etcd: EtcdCluster
) -> None:
    await storage.create("/registry/pods/default/a", b'{"metadata":{"name":"a"}}')

    found = await asyncio.to_thread(etcd.etcdctl, "get", "/registry/pods/default/a")

    assert found == '/registry/pods/default/a\n{"metadata":{"name":"a"}}\n'


async def test_keys_outside_the_root_are_refused(storage: EtcdStorage) -> None:
    with pytest.raises(InvalidKey, match="not below /registry/"):
        await storage.create("/other/a", b"x")
    with pytest.raises(InvalidKey, match="not below /registry/"):
        await storage.list("/other/")


@pytest.mark.parametrize("size", [1_700_000, 3_000_000])
async def test_a_value_that_etcd_refuses_is_too_large(
    storage: EtcdStorage, place: str, size: int
) -> None:
    with pytest.raises(ValueTooLarge, match="etcd refuses a value of this size"):
        await storage.create(place + "a", bytes(size))


async def test_a_transaction_of_many_large_keys_is_one_batch(
    storage: EtcdStorage, place: str
) -> None:
    """It comes in fragments: with previous values it is larger than a message of etcd."""
    after = await storage.current_revision()
    for size in (12_000, 14_000):
        request = messages.TxnRequest()
        for number in range(100):
            put = request.success.add().request_put
            put.key, put.value = f"{place}{number:03}".encode(), bytes(size)
        await storage._client.call(TXN, request)

    async with storage.watch(place, after=after) as watch, asyncio.timeout(60):
        changes: list[Change] = []
        splits: list[int] = []
        while len(changes) < 200:
            changes += (await anext(watch)).changes
            splits.append(len(changes))

    assert {change.revision for change in changes} == {after + 1, after + 2}
    assert set(splits) <= {100, 200}
    assert all(len(change.old.value) == 12_000 for change in changes[100:] if change.old)


async def test_a_long_replay_is_in_order_and_resumes_after_events(
    config: EtcdConfig, place: str
) -> None:
    """etcd's headers run ahead of the events they come with, so no batch may end at a header."""
    async with EtcdStorage.open(config, SystemClock()) as storage:
        after = start = await storage.current_revision()
        for first in range(0, 3_000, 200):
            await asyncio.gather(
                *(storage.create(f"{place}{n}", bytes(1_000)) for n in range(first, first + 200))
            )

        revisions: list[int] = []
        while len(revisions) < 3_000:
            async with storage.watch(place, after=after) as watch, asyncio.timeout(60):
                batch = await anext(watch)
            assert batch.revision == batch.changes[-1].revision
            revisions += [change.revision for change in batch.changes]
            after = batch.revision

    assert revisions == list(range(start + 1, start + 3_001))


async def test_trusted_progress_is_asked_of_etcd_and_writes_nothing(
    config: EtcdConfig, place: str
) -> None:
    trusting = replace(config, trusts_progress=True)
    async with EtcdStorage.open(trusting, SystemClock()) as storage:
        written = await storage.create(place + "other/a", b"x")
        async with storage.watch(place + "quiet/", after=written - 1) as watch:
            await asyncio.gather(*(storage.request_progress() for _ in range(3)))
            async with asyncio.timeout(60), asking_for_progress(storage, SystemClock()):
                batch = await anext(watch)

        assert (batch.changes, batch.revision) == ((), written)
        assert await storage.current_revision() == written


async def test_the_progress_marker_is_in_no_list(config: EtcdConfig, place: str) -> None:
    doubting = replace(config, trusts_progress=False)
    async with EtcdStorage.open(doubting, SystemClock()) as storage:
        await storage.create(place + "a", b"x")
        counted = await storage.count("/registry/")
        async with storage.watch("/registry/", after=await storage.current_revision()) as watch:
            await storage.request_progress()
            async with asyncio.timeout(60):
                batch = await anext(watch)

        assert batch.changes == ()
        assert batch.revision == await storage.current_revision()
        assert await storage.count("/registry/") == counted
        assert len((await storage.list("/registry/")).items) == counted


async def test_a_cancelled_wait_does_not_end_the_watch(storage: EtcdStorage, place: str) -> None:
    async with storage.watch(place, after=await storage.current_revision()) as watch:
        waiting = asyncio.ensure_future(anext(watch))
        for _ in range(10):
            await asyncio.sleep(0)
        waiting.cancel()
        await asyncio.gather(waiting, return_exceptions=True)

        written = await storage.create(place + "a", b"x")
        async with asyncio.timeout(60):
            batch = await anext(watch)

    assert [change.revision for change in batch.changes] == [written]


async def test_one_of_two_servers_compacts_and_the_other_learns_of_it(
    config: EtcdConfig, place: str
) -> None:
    clock = SystemClock()
    async with EtcdStorage.open(config, clock) as one, EtcdStorage.open(config, clock) as other:
        rounds = [Rounds(one._client), Rounds(other._client)]
        first = [await each.next() for each in rounds]
        seen = await one.current_revision()
        revision = await one.create(place + "a", b"0")
        for _ in range(5):
            revision = await one.update(place + "a", b"1", expected=revision)
        second = [await each.next() for each in rounds]

        assert first == [0, 0]
        assert sorted(second)[0] == 0
        assert sorted(second)[1] == pytest.approx(seen, abs=1)
        await one.compact(revision)
        with pytest.raises(Compacted):
            await other.list(place, revision=seen)
        with pytest.raises(Compacted):
            async with other.watch(place, after=seen) as watch, asyncio.timeout(60):
                await anext(watch)
        await other.compact(revision)
        assert other.compacted_revision == revision


async def test_history_is_compacted_in_rounds(etcd: EtcdCluster, place: str) -> None:
    clock = VirtualClock()
    config = EtcdConfig(etcd.endpoints)
    async with EtcdStorage.open(config, clock) as storage, background(storage.run()):
        revision = await storage.create(place + "a", b"0")
        async with asyncio.timeout(60):
            while storage.compacted_revision < revision:
                revision_now = await storage.current_revision()
                await clock.advance(15)

        assert storage.compacted_revision <= revision_now
        with pytest.raises(Compacted):
            await storage.list(place, revision=revision - 1)


async def test_a_closed_store_says_so(config: EtcdConfig, place: str) -> None:
    async with EtcdStorage.open(config, SystemClock()) as storage:
        watching = storage.watch(place + "quiet/", after=await storage.current_revision())
        watch = await watching.__aenter__()
        waiting = [
            asyncio.ensure_future(anext(watch)),
            *(asyncio.ensure_future(storage.create(f"{place}{n}", b"x")) for n in range(5)),
        ]
        for _ in range(3):
            await asyncio.sleep(0)

    results = await asyncio.gather(*waiting, return_exceptions=True)
    await watching.__aexit__(None, None, None)

    assert {type(result) for result in results} <= {Unavailable, int}
    assert isinstance(results[0], Unavailable)
    with pytest.raises(Unavailable, match="the store is closed"):
        await storage.get(place + "a")


async def test_no_endpoint_is_unavailable() -> None:
    config = EtcdConfig(("http://127.0.0.1:1",), attempt_timeout_s=0.5, request_timeout_s=0.5)

    with pytest.raises(Unavailable, match=r"no etcd endpoint answers: http://127\.0\.0\.1:1: "):
        async with EtcdStorage.open(config, SystemClock()):
            pass


async def test_a_dead_endpoint_is_passed_over(config: EtcdConfig, place: str) -> None:
    several = replace(config, endpoints=["http://127.0.0.1:1", *config.endpoints])
    for _ in range(4):  # the first one is taken by chance
        async with EtcdStorage.open(several, SystemClock()) as storage:
            written = await storage.create(place + uuid4().hex, b"x")
            async with storage.watch(place, after=written - 1) as watch, asyncio.timeout(60):
                assert (await anext(watch)).revision == written


async def test_a_name_and_a_password_open_etcd() -> None:
    async with running_etcd() as cluster:
        cluster.etcdctl("user", "add", "root:secret")
        cluster.etcdctl("user", "grant-role", "root", "root")
        cluster.etcdctl("auth", "enable")
        right = EtcdConfig(cluster.endpoints, username="root", password="secret")
        wrong = replace(right, password="guess")
        nobody = EtcdConfig(cluster.endpoints)

        async with EtcdStorage.open(right, SystemClock()) as storage:
            after = await storage.current_revision()
            await storage.create("/registry/a/b", b"x")
            storage._client.metadata = (("hasleader", "true"), ("token", "expired.1"))
            assert await storage.get("/registry/a/b") is not None
            async with storage.watch("/registry/", after=after) as watch, asyncio.timeout(60):
                assert len((await anext(watch)).changes) == 1

        with pytest.raises(AccessDenied):
            async with EtcdStorage.open(wrong, SystemClock()):
                pass
        with pytest.raises(AccessDenied):
            async with EtcdStorage.open(nobody, SystemClock()) as storage:
                await storage.get("/registry/a/b")


async def test_certificates_open_etcd() -> None:
    async with running_etcd(tls=True) as cluster:
        trusted = EtcdConfig(
            cluster.endpoints,
            cluster.ca_file,
            cluster.certificate_file,
            cluster.key_file,
        )
        async with EtcdStorage.open(trusted, SystemClock()) as storage:
            written = await storage.create("/registry/a/b", b"x")
            async with storage.watch("/registry/", after=written - 1) as watch, asyncio.timeout(60):
                assert (await anext(watch)).revision == written

        impatient = replace(trusted, attempt_timeout_s=1, request_timeout_s=1)
        for stranger in (
            replace(impatient, certificate_file=None, key_file=None),
            replace(impatient, ca_file=None),
        ):
            with pytest.raises(Unavailable):
                async with EtcdStorage.open(stranger, SystemClock()):
                    pass


async def test_a_full_etcd_refuses_writes_and_loses_nothing() -> None:
    async with (
        running_etcd(arguments=("--quota-backend-bytes", "4000000")) as cluster,
        EtcdStorage.open(EtcdConfig(cluster.endpoints), SystemClock()) as storage,
    ):
        written: dict[str, int] = {}
        with pytest.raises(StorageFull, match="no space left"):
            for number in range(3_000):  # etcd looks at its size only now and then
                key = f"/registry/a/{number:04}"
                written[key] = await storage.create(key, bytes(100_000))

        page = await storage.list("/registry/a/")
        found = {item.key: item.revision for item in page.items}
        assert written.items() <= found.items()
        assert len(found) <= len(written) + 1  # etcd keeps the write that reaches its limit


async def test_a_lost_connection_ends_watches_and_comes_back() -> None:
    async with running_etcd() as cluster:
        config = EtcdConfig(cluster.endpoints, attempt_timeout_s=30, request_timeout_s=2)
        async with EtcdStorage.open(config, SystemClock()) as storage:
            written = await storage.create("/registry/a/1", b"x")
            async with storage.watch("/registry/", after=written) as watch:
                cluster.kill(0)
                with pytest.raises(Unavailable):
                    async with asyncio.timeout(60):
                        await anext(watch)
            with pytest.raises(Unavailable):
                await storage.create("/registry/a/2", b"x")
            with pytest.raises(Unavailable):
                await storage.get("/registry/a/1")

            await cluster.restart(0)
            found = None
            async with asyncio.timeout(60):
                while found is None:
                    with contextlib.suppress(Unavailable):
                        found = await storage.get("/registry/a/1")
            again = await storage.create("/registry/a/3", b"x")
            async with storage.watch("/registry/", after=written) as watch, asyncio.timeout(60):
                assert (await anext(watch)).changes[-1].revision == again
