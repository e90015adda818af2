"""One stream from storage for all resources: routing, gaps, resources that come and go."""

from __future__ import annotations

import asyncio

import pytest

from proreus.api.status import TooManyRequests
from proreus.server.storage.interface import (
    Compacted,
    FutureRevision,
    StorageCorrupt,
    StorageError,
    StorageFull,
    Unavailable,
)
from proreus.server.storage.memory import MemoryStorage
from proreus.server.watch_cache.caches import WatchCaches
from proreus.server.watch_cache.query import AnyState, Exact, ListQuery, NotOlderThan, WatchQuery
from proreus.server.watch_cache.readiness import retry_after_s
from proreus.testing.virtual_clock import VirtualClock
from tests.watching import (
    PREFIX,
    Cluster,
    InterruptibleStorage,
    cluster_on,
    put,
    read_attributes,
    remove,
)

SPECS, ENDPOINTS = "/registry/services/specs/", "/registry/services/endpoints/"
THINGS = "/registry/example.com/things/"
PATIENCE_S = 60
LATE = (THINGS, SPECS)


async def test_changes_go_to_the_resource_with_the_longest_prefix(cluster: Cluster) -> None:
    specs = cluster.caches.add(SPECS, read_attributes)
    endpoints = cluster.caches.add(ENDPOINTS, read_attributes)
    await specs.wait_ready()
    await endpoints.wait_ready()

    await put(cluster.storage, SPECS, "a/s")
    await put(cluster.storage, ENDPOINTS, "a/e")
    await put(cluster.storage, "/registry/nobody/", "a/n")
    await cluster.write("services/p")
    await cluster.settle()

    assert specs.peek("a/s") is not None and specs.peek("a/e") is None
    assert endpoints.peek("a/e") is not None
    assert cluster.cache.peek("services/p") is not None
    assert repr(specs).startswith("<WatchCache of services/specs at 5: 1 objects, 1 changes kept")


async def test_what_is_stored_before_the_start_is_listed_in_pages() -> None:
    clock = VirtualClock()
    async with MemoryStorage.open(clock) as storage:
        for n in range(2500):
            await put(storage, PREFIX, f"a/{n:04}")
        async with cluster_on(storage, clock) as cluster:
            listing = await cluster.cache.list(ListQuery())

    assert [obj.key for obj in listing.objects] == [f"a/{n:04}" for n in range(2500)]
    assert listing.revision == 2501


@pytest.mark.parametrize(("count", "size"), [(1000, 1), (4, 600_000)], ids=["many", "large ones"])
async def test_others_get_their_turn_while_a_burst_of_changes_is_applied(
    cluster: Cluster, count: int, size: int
) -> None:
    for n in range(count):
        await cluster.write(f"a/{n:04}", labels={"text": "x" * size})

    seen = set()
    async with asyncio.timeout(PATIENCE_S):
        while count not in seen:
            seen.add(len(await cluster.keys(ListQuery(state=AnyState()))))
            await asyncio.sleep(0)

    assert len(seen) > 3, "between the turns, part of the burst is there"


@pytest.mark.parametrize(
    "value",
    [
        b"k8s\x00\n\x0c\n\x02v1\x12\x06Secret\x12\x00",  # as a kube-apiserver writes by default
        b"",
        b'{"metadata":{"name":"b"',
        b'{"metadata":[]}',
        b"[1]",
    ],
    ids=["protobuf", "empty", "cut off", "another shape", "a list"],
)
async def test_a_value_that_cannot_be_read_ends_neither_the_server_nor_any_watch(
    cluster: Cluster, value: bytes
) -> None:
    watch = await cluster.watch(WatchQuery(state=AnyState()))

    await cluster.storage.create(PREFIX + "a/b", value)
    last = await cluster.write("a/c")
    await cluster.settle()

    assert cluster.cache.is_ready and cluster.cache.revision == last
    assert cluster.cache.reading().unreadable == 1
    assert watch.lines[-1] == f"ADDED a/c {last}"
    assert [obj.key for obj in (await cluster.cache.list(ListQuery())).objects] == ["a/b", "a/c"]


async def test_a_start_on_values_that_cannot_be_read_serves_the_others() -> None:
    clock = VirtualClock()
    async with MemoryStorage.open(clock) as storage:
        await storage.create(PREFIX + "a/b", b"k8s\x00")
        await put(storage, PREFIX, "a/c")
        async with cluster_on(storage, clock) as cluster:
            found = await cluster.cache.get("a/c")

    assert found is not None and found.name == "c"


async def test_a_resource_added_later_has_its_past_and_misses_nothing(cluster: Cluster) -> None:
    for n in range(5):
        await put(cluster.storage, THINGS, f"a/{n}")
    await cluster.settle()

    things = cluster.caches.add(THINGS, read_attributes)
    with pytest.raises(TooManyRequests):
        await cluster.watch(cache=things)
    await put(cluster.storage, THINGS, "a/during")
    await remove(cluster.storage, THINGS, "a/0")
    await things.wait_ready()
    watch = await cluster.watch(WatchQuery(state=AnyState(), send_initial=True), cache=things)
    last = await put(cluster.storage, THINGS, "a/after")
    await cluster.settle()

    keys = [obj.key for obj in (await things.list(ListQuery())).objects]
    assert keys == ["a/1", "a/2", "a/3", "a/4", "a/after", "a/during"]
    assert {event.key for event in watch.events} == set(keys)
    assert watch.lines[-1] == f"ADDED a/after {last}"


async def test_resources_added_later_remember_as_many_writes_as_the_others() -> None:
    """Guarantee: resumable"""
    clock = VirtualClock()
    async with MemoryStorage.open(clock) as memory:
        storage = InterruptibleStorage(memory)
        for n in range(5):
            await put(storage, THINGS, f"a/{n}")
            await put(storage, SPECS, f"a/{n}")
        async with cluster_on(storage, clock, remembered=4) as cluster:
            storage.hold_lists()
            added = {prefix: cluster.caches.add(prefix, read_attributes) for prefix in LATE}
            during = await put(storage, THINGS, "a/during")
            await cluster.reached(during)
            storage.release_lists()
            for cache in added.values():
                await cache.wait_ready()
            asked = WatchQuery(state=NotOlderThan(during - 4))
            things, specs = [await cluster.watch(asked, cache=cache) for cache in added.values()]
            too_early = WatchQuery(state=NotOlderThan(during - 5))
            refused = await cluster.watch(too_early, cache=added[SPECS])
            await cluster.settle()

    assert things.lines == ["ADDED a/4 10", "ADDED a/during 12"]
    assert specs.lines == ["ADDED a/3 9", "ADDED a/4 11"]
    assert "too old" in refused.lines[0]


async def test_a_resource_removed_ends_its_watches_without_an_error(cluster: Cluster) -> None:
    things = cluster.caches.add(THINGS, read_attributes)
    await things.wait_ready()
    watch = await cluster.watch(cache=things)
    other = await cluster.watch()

    cluster.caches.remove(THINGS)
    revision = await put(cluster.storage, THINGS, "a/x")
    await cluster.reached(revision)

    assert watch.is_closed() and watch.lines == []
    assert not other.is_closed()
    with pytest.raises(TooManyRequests, match="apiserver cacher is stopped"):
        await cluster.watch(cache=things)
    again = cluster.caches.add(THINGS, read_attributes)
    await again.wait_ready()
    assert again.peek("a/x") is not None


@pytest.mark.parametrize(
    "why",
    [Unavailable("connection lost"), StorageCorrupt("a page is damaged"), StorageFull("no space")],
    ids=lambda why: type(why).__name__,
)
async def test_a_lost_stream_is_resumed_and_watchers_notice_nothing(why: StorageError) -> None:
    clock = VirtualClock()
    async with MemoryStorage.open(clock) as memory:
        storage = InterruptibleStorage(memory)
        async with cluster_on(storage, clock) as cluster:
            watch = await cluster.watch()
            await cluster.write("a/1")
            await cluster.settle()

            storage.interrupt(why)
            await cluster.write("a/2")
            await cluster.settle()
            assert watch.lines == ["ADDED a/1 2"]
            await cluster.clock.advance(5)

            assert watch.lines == ["ADDED a/1 2", "ADDED a/2 3"]
            assert not watch.is_closed()


async def test_a_store_that_cannot_tell_how_far_it_is_ends_nothing() -> None:
    """An etcd without space may refuse the write by which progress is learned."""
    clock = VirtualClock()
    async with MemoryStorage.open(clock) as memory:
        storage = InterruptibleStorage(memory)
        async with cluster_on(storage, clock) as cluster:
            storage.progress_error = StorageFull("no space")
            waiting = asyncio.create_task(cluster.caches.wait_for(3))
            await cluster.clock.advance(1)
            assert storage.progress_requests

            await cluster.write("a/1")
            last = await cluster.write("a/2")
            await cluster.settle()

            assert waiting.done() and cluster.cache.revision == last


async def test_after_a_gap_every_watcher_is_closed_before_the_new_list_is_seen() -> None:
    clock = VirtualClock()
    async with MemoryStorage.open(clock) as memory:
        storage = InterruptibleStorage(memory)
        async with cluster_on(storage, clock) as cluster:
            await cluster.write("a/1")
            watch = await cluster.watch()
            storage.hold_lists()

            storage.interrupt(Compacted(1, 2))
            revision = await cluster.write("a/2")
            await cluster.settle()
            assert watch.is_closed() and watch.lines == []
            with pytest.raises(TooManyRequests) as refused:
                await cluster.watch()
            assert refused.value.message.startswith("storage is (re)initializing: revision 1 has")
            assert refused.value.retry_after_s == 1

            storage.release_lists()
            await cluster.settle()
            assert await cluster.keys() == ["a/1", "a/2"]
            too_old = await cluster.watch(WatchQuery(after=revision - 1))
            await cluster.settle()
            expected = f"ERROR 410 too old resource version: {revision - 1} ({revision})"
            assert too_old.lines == [expected]


async def test_a_watch_that_waits_while_the_cache_reloads_is_closed_at_once() -> None:
    clock = VirtualClock()
    async with MemoryStorage.open(clock) as memory:
        storage = InterruptibleStorage(memory)
        async with cluster_on(storage, clock) as cluster:
            asked = WatchQuery(state=NotOlderThan(3), send_initial=True)
            async with asyncio.TaskGroup() as group:
                starting = group.create_task(cluster.watch(asked))
                await cluster.settle()
                storage.interrupt(Compacted(1, 2))
                await cluster.write("a/1")
                await cluster.write("a/2")
            await cluster.settle()

            assert starting.result().is_closed()
            assert starting.result().lines == []


async def test_reads_while_not_ready_go_to_storage_if_they_are_cheap() -> None:
    clock = VirtualClock()
    async with MemoryStorage.open(clock) as memory:
        storage = InterruptibleStorage(memory)
        caches = WatchCaches(storage, clock)
        cache = caches.add(PREFIX, read_attributes)
        for n in range(3):
            await put(memory, PREFIX, f"a/{n}")

        found = await cache.get("a/1", at_least=2)
        page = await cache.list(ListQuery(limit=2))
        exact = await cache.list(ListQuery(state=Exact(3)))

        assert found is not None and found.key == "a/1"
        assert ([obj.key for obj in page.objects], page.remaining) == (["a/0", "a/1"], 1)
        assert [obj.key for obj in exact.objects] == ["a/0", "a/1"]
        assert cache.peek("a/1") is None
        await clock.advance(40)
        with pytest.raises(TooManyRequests) as refused:
            await cache.list(ListQuery())
        assert refused.value.retry_after_s == 11
        assert repr(caches) == "<WatchCaches of 1 resources: <Ingest listing, 0 resources loading>>"


async def test_a_storage_that_cannot_be_listed_is_tried_again() -> None:
    clock = VirtualClock()
    async with MemoryStorage.open(clock) as memory:
        storage = InterruptibleStorage(memory)
        storage.fail_lists(Unavailable("no leader"))
        async with asyncio.TaskGroup() as group:
            caches = WatchCaches(storage, clock)
            cache = caches.add(PREFIX, read_attributes)
            running = group.create_task(caches.run())
            await clock.advance(5)
            with pytest.raises(TooManyRequests, match="initializing: no leader"):
                await cache.list(ListQuery())

            storage.fail_lists(None)
            await clock.advance(1)
            assert cache.is_ready
            running.cancel()


async def test_while_somebody_waits_storage_is_asked_for_progress() -> None:
    clock = VirtualClock()
    async with MemoryStorage.open(clock) as memory:
        storage = InterruptibleStorage(memory)
        async with cluster_on(storage, clock) as cluster:
            assert storage.progress_requests == 0
            async with asyncio.TaskGroup() as group:
                asked = ListQuery(state=NotOlderThan(2))
                waiting = group.create_task(cluster.cache.list(asked))
                await cluster.clock.advance(1.0)
                assert 9 <= storage.progress_requests <= 12
                await cluster.write("a/x")
            await cluster.clock.advance(5)

            assert waiting.result().revision == 2
            assert storage.progress_requests <= 13


async def test_a_consistent_read_that_cannot_be_confirmed_is_read_from_storage() -> None:
    clock = VirtualClock()
    async with MemoryStorage.open(clock) as memory:
        storage = InterruptibleStorage(memory)
        async with cluster_on(storage, clock) as cluster:
            storage.hold_changes()
            revision = await cluster.write("a/x")
            async with asyncio.TaskGroup() as group:
                asking = group.create_task(cluster.cache.list(ListQuery()))
                await cluster.clock.advance(3.1)
            storage.release_changes()

            assert asking.result().revision == revision
            assert [obj.key for obj in asking.result().objects] == ["a/x"]


def test_the_pause_asked_for_grows_with_the_outage() -> None:
    assert [retry_after_s(t) for t in (0, 10, 20, 30, 56, 57, 1e6)] == [1, 1, 3, 6, 28, 30, 30]


async def test_a_storage_put_back_to_an_older_state_is_listed_anew() -> None:
    """A restored backup: the store's revision is behind what the caches had reached."""
    clock = VirtualClock()
    async with MemoryStorage.open(clock) as memory, MemoryStorage.open(clock) as backup:
        storage = InterruptibleStorage(memory)
        await put(backup, PREFIX, "a/old")
        async with cluster_on(storage, clock) as cluster:
            for n in range(5):
                await cluster.write(f"a/{n}")
            await cluster.settle()
            watch = await cluster.watch()

            storage.replace(backup)
            storage.interrupt(FutureRevision(6, 2))
            await cluster.settle()

            assert watch.is_closed()
            assert cluster.caches.revision == 2
            assert await cluster.keys() == ["a/old"]
            after = await cluster.watch(WatchQuery(after=2))
            await cluster.write("a/new")
            await cluster.settle()
            assert after.lines == ["ADDED a/new 3"]
