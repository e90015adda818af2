"""Numbers under Kubernetes' names, in a registry per server."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import NamedTuple

from proreus.aio.tasks import background
from proreus.api.group_version import GroupResource
from proreus.server.http.metrics_text import metrics_text
from proreus.server.prometheus import CollectorRegistry
from proreus.server.storage.memory import MemoryStorage
from proreus.server.watch_cache.cache import WatchCache
from proreus.server.watch_cache.caches import WatchCaches
from proreus.server.watch_cache.query import AnyState, ListQuery, WatchQuery
from proreus.testing.virtual_clock import VirtualClock
from tests.samples import sample_value
from tests.watching import PREFIX, LinesView, RecordingSink, put, read_attributes, selection


class Counted(NamedTuple):
    storage: MemoryStorage
    caches: WatchCaches
    cache: WatchCache
    registry: CollectorRegistry


@asynccontextmanager
async def counted(clock: VirtualClock | None = None) -> AsyncIterator[Counted]:
    """The caches of a server, one of which is of ``things.apps``."""
    clock, registry = clock or VirtualClock(), CollectorRegistry()
    async with MemoryStorage.open(clock) as storage:
        caches = WatchCaches(storage, clock, registry)
        cache = caches.add(PREFIX, read_attributes, resource=GroupResource("apps", "things"))
        async with background(caches.run()):
            await caches.wait_ready()
            yield Counted(storage, caches, cache, registry)


async def test_a_scrape_reports_what_the_caches_have_done() -> None:
    clock = VirtualClock()
    async with counted(clock) as (storage, caches, cache, registry):
        await cache.watch(WatchQuery(state=AnyState()), LinesView(), RecordingSink())
        for n in range(3):
            await put(storage, PREFIX, f"a/{n}", labels={"n": str(n)})
        await cache.list(ListQuery(selection("n=1")))
        await cache.watch(
            WatchQuery(state=AnyState(), send_initial=True), LinesView(), RecordingSink()
        )
        await clock.settle()

        def read(name: str, **labels: str) -> float | None:
            return sample_value(registry, name, {"group": "apps", "resource": "things", **labels})

        assert read("apiserver_watch_cache_events_received_total") == 3
        assert read("apiserver_watch_cache_events_dispatched_total") == 3
        assert read("apiserver_watch_cache_initializations_total") == 1
        assert read("apiserver_watch_cache_resource_version") == 4
        assert read("apiserver_init_events_total") == 3
        assert read("apiserver_watch_events_total") == 6
        assert read("apiserver_watch_events_sizes_bucket", le="1024") == 6
        assert read("apiserver_watch_events_sizes_count") == 6
        assert read("apiserver_terminated_watchers_total") == 0
        assert read("apiserver_cache_list_total", index="") == 1
        assert read("apiserver_cache_list_fetched_objects_total", index="") == 3
        assert read("apiserver_cache_list_returned_objects_total") == 1
        assert read("watch_cache_capacity") == 100
        assert read("apiserver_resource_objects") == 3
        labels = {"success": "true", "fallback": "false"}
        assert read("apiserver_watch_cache_consistent_read_total", **labels) == 1

        caches.remove(PREFIX)
        assert b'apiserver_resource_objects{group="apps"' not in b"".join(metrics_text(registry))


async def test_a_list_without_a_selector_counts_what_it_looked_at() -> None:
    async with counted() as (storage, _, cache, registry):
        for n in range(3):
            await put(storage, PREFIX, f"a/{n}")
        await cache.list(ListQuery())
        await cache.list(ListQuery(limit=5))

        labels = {"group": "apps", "resource": "things"}
        assert [
            sample_value(registry, f"apiserver_cache_list_{what}_objects_total", labels | more)
            for what, more in (("fetched", {"index": ""}), ("returned", {}))
        ] == [6, 6]


def test_two_servers_in_one_process_count_apart() -> None:
    clock = VirtualClock()
    storage = MemoryStorage(clock)

    for _ in range(2):
        WatchCaches(storage, clock, CollectorRegistry()).add(PREFIX, read_attributes)
        WatchCaches(storage, clock).add(PREFIX, read_attributes)
