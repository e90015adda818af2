"""All watch caches of a server over one ingest: the folder's entry point.

Give it the storage, ``add`` a cache per resource, ``run`` it in the server's TaskGroup. Resources
can be added and removed while it runs (custom resources).
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping

from proreus.aio.clock import Clock
from proreus.aio.turns import Turns
from proreus.api.group_version import GroupResource
from proreus.server.prometheus import CollectorRegistry
from proreus.server.storage.interface import Storage, StoredValue
from proreus.server.storage.keyspace import ROOT
from proreus.server.watch_cache.cache import WatchCache
from proreus.server.watch_cache.freshness import Freshness
from proreus.server.watch_cache.ingest import Ingest
from proreus.server.watch_cache.metrics import WatchCacheMetrics
from proreus.server.watch_cache.object import ReadAttributes
from proreus.server.watch_cache.routes import Routes
from proreus.server.watch_cache.state import CacheConfig, SharedParts
from proreus.server.watch_cache.subscriber import Subscriber
from proreus.server.watch_cache.timer_queue import TimerQueue
from proreus.server.watch_cache.view import Deliver, write_to_each

# More than one turn's burst of large objects, far less than a list.
BUFFERED_MAX = 1024 * 1024


class WatchCaches:
    def __init__(  # noqa: PLR0913 - what a server chooses once
        self,
        storage: Storage,
        clock: Clock,
        registry: CollectorRegistry | None = None,
        *,
        buffered_max: int = BUFFERED_MAX,
        remembered: int = 0,
        begins_now: bool = False,
        recalls: bool = False,
        deliver: Deliver = write_to_each,
        turns: Turns | None = None,
    ) -> None:
        """``buffered_max``: bytes a watcher's sink may hold before its reader counts as slow;
        ``remembered``: how many writes before a cache was added watchers can resume from;
        ``begins_now``: but none from before the start;
        ``recalls``: those that know less are told what storage still has;
        ``deliver``: how many sinks at once are written to;
        ``turns``: when the next slice of a long filter may run."""
        self._freshness = Freshness(storage, clock)
        self._metrics = WatchCacheMetrics(registry)
        self._timers = TimerQueue(clock)
        self._shared = SharedParts(
            storage,
            clock,
            self._freshness,
            self._timers,
            self._metrics,
            buffered_max,
            deliver,
            turns or Turns(),
            recalls,
        )
        self._routes = Routes()
        self._ingest = Ingest(
            storage,
            clock,
            self._freshness,
            self._routes,
            remembered=remembered,
            begins_now=begins_now,
        )

    @property
    def revision(self) -> int:
        """How far all caches are."""
        return self._freshness.revision

    def add(
        self,
        prefix: str,
        read: ReadAttributes,
        exact_index: str = "",
        *,
        cached: bool = True,
        resource: GroupResource | None = None,
    ) -> WatchCache:
        """A cache for everything under ``prefix``, ready once it has been listed.

        ``read`` gets the stored form. ``resource`` names it in metrics and ``repr``.
        """
        named = resource or GroupResource("", prefix.removeprefix(ROOT).rstrip("/"))
        cache = WatchCache(CacheConfig(prefix, named, read, exact_index, cached), self._shared)
        self._routes.add(cache)
        self._metrics.add(cache)
        self._ingest.add(cache)
        return cache

    def remove(self, prefix: str) -> None:
        """Forget a resource; its watchers end without an error."""
        cache = self._routes.remove(prefix)
        self._metrics.remove(cache)
        self._ingest.remove(cache)
        cache.stop()

    async def wait_ready(self) -> None:
        """Wait until every cache is filled; the caller sets the deadline."""
        for cache in self._routes:
            await cache.wait_ready()

    async def wait_for(self, revision: int) -> None:
        """Wait until every cache has applied ``revision``. Raises ResourceVersionTooLarge."""
        await self._freshness.wait_for(revision)

    @property
    def is_loading(self) -> bool:
        """Some cache is not filled yet."""
        return self._ingest.is_loading

    def set_back(self, changed: Mapping[str, StoredValue | None], revision: int) -> None:
        """Storage was set back to ``revision``, which changed these keys to what they had then.
        Only while nothing is loading, and right after all that was written has been applied."""
        of_cache: dict[WatchCache, dict[str, StoredValue | None]] = {}
        for key, value in changed.items():
            if (cache := self._routes.find(key)) is not None:
                of_cache.setdefault(cache, {})[key] = value
        self._freshness.start_over(revision)
        for cache, values in of_cache.items():
            cache.set_back(values, revision)

    def forget_past(self) -> int:
        """No watch can resume from a state before the present one any more; its revision."""
        for cache in self._routes:
            cache.forget_past()
        return self.revision

    def subscribers(self) -> list[Subscriber]:
        return [subscriber for cache in self._routes for subscriber in cache.subscribers]

    async def run(self) -> None:
        """Follow storage for ever."""
        async with asyncio.TaskGroup() as parts:
            parts.create_task(self._freshness.run(), name="watch cache: progress requests")
            parts.create_task(self._ingest.run(), name="watch cache: ingest")

    def close_watchers(self) -> None:
        """End every stream normally, for a server that shuts down."""
        for cache in self._routes:
            cache.close_watchers("shutting down")

    def __repr__(self) -> str:
        return f"<WatchCaches of {len(self._routes)} resources: {self._ingest!r}>"
