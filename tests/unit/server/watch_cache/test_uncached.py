"""Resources that Kubernetes serves without a watch cache: events (server.md §2.8, §12)."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest
import pytest_asyncio

from proreus.api.status import ResourceVersionTooLarge
from proreus.server.storage.memory import MemoryStorage
from proreus.server.watch_cache.query import (
    AnyState,
    Exact,
    ListQuery,
    NotOlderThan,
    State,
    WatchQuery,
)
from proreus.testing.virtual_clock import VirtualClock
from tests.watching import Cluster, cluster_on, from_start


@pytest_asyncio.fixture
async def cluster() -> AsyncIterator[Cluster]:
    clock = VirtualClock()
    async with (
        MemoryStorage.open(clock) as storage,
        cluster_on(storage, clock, cached=False) as cluster,
    ):
        yield cluster


@pytest.mark.parametrize("state", [NotOlderThan(99), Exact(99)])
async def test_a_revision_to_come_fails_at_once_and_asks_for_no_retry(
    cluster: Cluster, state: State
) -> None:
    with pytest.raises(ResourceVersionTooLarge) as refused:
        await cluster.cache.list(ListQuery(state=state))

    assert refused.value.message == "Timeout: Too large resource version: 99, current: 1"
    assert refused.value.retry_after_s == 0
    assert cluster.clock.monotonic() == 0
    with pytest.raises(ResourceVersionTooLarge):
        await cluster.cache.get("a/x", at_least=99)


async def test_the_limit_holds_for_any_state(cluster: Cluster) -> None:
    for n in range(3):
        await cluster.write(f"a/{n}")

    page = await cluster.cache.list(ListQuery(state=AnyState(), limit=2))

    assert [obj.key for obj in page.objects] == ["a/0", "a/1"]
    assert page.remaining == 1


async def test_any_and_not_older_than_see_the_newest(cluster: Cluster) -> None:
    for state in (AnyState(), NotOlderThan(1)):
        revision = await cluster.write("a/x", n=1)
        listing = await cluster.cache.list(ListQuery(state=state))
        assert [obj.revision for obj in listing.objects] == [revision]
        await cluster.delete("a/x")


async def test_a_watch_of_a_state_to_come_is_refused_at_once(cluster: Cluster) -> None:
    query = WatchQuery(state=NotOlderThan(99), send_initial=True, timeout_s=1)

    watch = await cluster.watch(query)
    await cluster.settle()

    assert watch.lines == ["ERROR 504 Timeout: Too large resource version: 99, current: 1"]
    assert cluster.clock.monotonic() == 0


async def test_a_watch_too_old_is_reported_in_storages_words(cluster: Cluster) -> None:
    for n in range(110):
        await cluster.write("a/x", n=n)
        await cluster.clock.advance(7)

    watch = await cluster.watch(WatchQuery(after=2))
    await cluster.settle()

    assert watch.lines == ["ERROR 410 The resourceVersion for the provided watch is too old."]


async def test_the_end_of_the_initial_events_is_its_only_bookmark(cluster: Cluster) -> None:
    watch = await cluster.watch(from_start(bookmarks=True))
    await cluster.write("a/x")
    await cluster.clock.advance(300)

    assert watch.lines == ["BOOKMARK 1 end", "ADDED a/x 2"]
