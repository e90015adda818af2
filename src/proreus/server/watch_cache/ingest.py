"""The one reader of storage's changes: list everything once, then follow, and route by prefix.

    Listing ──▶ Following(after) ──lost──▶ Following(after)     resume first
       ▲              └──compacted, or storage was set back──┐
       └─────────────────────────────────────────────────────┘

Receives: ChangeBatch, from storage.  Hands on: Change, to the ``cache`` of its resource.
Invariant: changes are applied in revision order; ``freshness`` says N only when every change up to
N has been applied to every loaded cache. Changes of one revision are applied without an await.

With ``remembered`` a list is read that many writes in the past, and the changes since are applied
to it before anybody can look: so a watcher can resume whose server has been restarted.

One watch for all resources, because then an idle resource is as fresh as a busy one and a server
with a hundred kinds holds one stream. A cache that is added later lists its own prefix at a
revision the ingest has reached, while changes to it wait.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterator
from dataclasses import dataclass
from typing import assert_never

from proreus.aio.backoff import Backoff
from proreus.aio.clock import Clock, deadline
from proreus.api.status import ResourceVersionTooLarge
from proreus.server.storage.interface import (
    Change,
    ChangeBatch,
    Compacted,
    FutureRevision,
    Storage,
    StorageError,
    Unavailable,
)
from proreus.server.watch_cache.cache import WatchCache
from proreus.server.watch_cache.freshness import Freshness
from proreus.server.watch_cache.object import CachedObject
from proreus.server.watch_cache.routes import Routes

ROOT = "/registry/"
_PAGE = 1000
_RELIST_AFTER_S = 1.0
_PAST_WAIT_S = 3.0
# How much may be applied in one turn of the loop before sinks get a chance to send.
_TURN_CHANGES = 128
_TURN_BYTES = 512 * 1024

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Listing:
    why: str = ""


@dataclass(frozen=True, slots=True)
class Following:
    after: int


class Ingest:
    def __init__(
        self,
        storage: Storage,
        clock: Clock,
        freshness: Freshness,
        routes: Routes,
        *,
        remembered: int = 0,
    ) -> None:
        self._storage = storage
        self._clock = clock
        self._freshness = freshness
        self._routes = routes
        self._remembered = remembered
        self._state: Listing | Following = Listing()
        self._backoff = Backoff(clock, initial_s=0.05, cap_s=1.0, reset_after_s=10.0)
        # Caches added while following, with the changes to them since; bound: one list's time.
        self._late: dict[WatchCache, list[Change]] = {}
        self._late_added = asyncio.Event()

    def add(self, cache: WatchCache) -> None:
        """Load a new cache: with the next list, or beside the running stream."""
        if isinstance(self._state, Following):
            self._late[cache] = []
            self._late_added.set()

    def remove(self, cache: WatchCache) -> None:
        self._late.pop(cache, None)

    async def run(self) -> None:
        """Keep the caches filled, for ever."""
        self._state = Listing()
        async with asyncio.TaskGroup() as parts:
            parts.create_task(self._load_late_ones(), name="watch cache: late resources")
            while True:
                match self._state:
                    case Listing(why=why):
                        self._state = await self._list(why)
                    case Following(after=after):
                        self._state = await self._follow(after)
                    case other:
                        assert_never(other)

    async def _list(self, why: str) -> Listing | Following:
        """Every cache from one paged list, or try again after a second."""
        caches = list(self._routes)
        self._late.clear()
        for cache in caches:
            cache.begin_load(why)
        try:
            found, revision, since = await self._read()
        except StorageError as error:
            _log.warning("storage could not be listed: %s", error)
            await self._clock.sleep(_RELIST_AFTER_S)
            return Listing(str(error))
        self._freshness.start_over(since.revision)
        for cache in self._routes:
            if cache in caches:
                cache.load(found.get(cache, ()), revision)
            else:
                self._late[cache] = []
                self._late_added.set()
        for change in since.changes:
            if (found_cache := self._routes.find(change.key)) in caches:
                assert found_cache is not None
                found_cache.apply(change)
        return Following(since.revision)

    async def _read(self) -> tuple[dict[WatchCache, list[CachedObject]], int, ChangeBatch]:
        """Everything as it was at a revision, and what has been written since."""
        newest = await self._storage.current_revision()
        past = max(newest - self._remembered, self._storage.compacted_revision, 1)
        if past < newest:
            try:
                async with deadline(self._clock, _PAST_WAIT_S):
                    found, revision = await self._read_all(past)
                    return found, revision, await self._read_since(revision)
            except (Compacted, FutureRevision, TimeoutError) as why:
                _log.info("the recent past is not known, beginning with the present: %r", why)
        found, revision = await self._read_all(0)
        return found, revision, ChangeBatch((), revision)

    async def _read_since(self, revision: int) -> ChangeBatch:
        newest = await self._storage.current_revision()
        changes: list[Change] = []
        if newest > revision:
            async with self._storage.watch(ROOT, after=revision) as batches:
                await self._storage.request_progress()  # the newest write may be no object's
                async for batch in batches:
                    changes += batch.changes
                    revision = batch.revision
                    if revision >= newest:
                        break
        return ChangeBatch(tuple(changes), revision)

    async def _read_all(self, revision: int) -> tuple[dict[WatchCache, list[CachedObject]], int]:
        found: dict[WatchCache, list[CachedObject]] = {}
        start = ROOT
        while True:
            page = await self._storage.list(ROOT, start=start, limit=_PAGE, revision=revision)
            revision = page.revision
            for stored in page.items:
                if (cache := self._routes.find(stored.key)) is not None:
                    found.setdefault(cache, []).append(cache.read(stored))
            if not page.has_more:
                return found, revision
            start = page.items[-1].key + "\0"

    async def _follow(self, after: int) -> Listing | Following:
        try:
            async with self._storage.watch(ROOT, after=after) as batches:
                async for batch in batches:
                    await self._take(batch)
            why: StorageError = Unavailable("the stream of changes ended")
        except (Compacted, FutureRevision) as gone:
            _log.warning("changes after %d are gone, listing again: %s", after, gone)
            return Listing(str(gone))
        except Unavailable as lost:
            why = lost
        delay_s = self._backoff.next()
        _log.info("the stream of changes was lost, resuming in %.2f s: %s", delay_s, why)
        await self._clock.sleep(delay_s)
        return Following(self._freshness.revision)

    async def _take(self, batch: ChangeBatch) -> None:
        for piece in _pieces(batch.changes):
            for change in piece:
                cache = self._routes.find(change.key)
                if cache is None:
                    continue
                if self._late and cache in self._late:
                    self._late[cache].append(change)
                else:
                    cache.apply(change)
            self._freshness.reached(piece[-1].revision)
            if piece[-1] is not batch.changes[-1]:
                await asyncio.sleep(0)
        self._freshness.reached(batch.revision)

    async def _load_late_ones(self) -> None:
        while True:
            await self._late_added.wait()
            self._late_added.clear()
            for cache in list(self._late):
                try:
                    await self._load_late(cache)
                except (StorageError, ResourceVersionTooLarge) as error:
                    cache.begin_load(str(error))
                    self._late_added.set()
                    await self._clock.sleep(_RELIST_AFTER_S)

    async def _load_late(self, cache: WatchCache) -> None:
        """List a prefix at a revision already reached, then add what has changed since."""
        held = self._late.get(cache)
        if held is None:
            return
        prefix, found = cache.kind.prefix, list[CachedObject]()
        start, revision = prefix, self._freshness.revision
        while True:
            page = await self._storage.list(prefix, start=start, limit=_PAGE, revision=revision)
            revision = page.revision
            found += [cache.read(stored) for stored in page.items if self._is_of(cache, stored.key)]
            if not page.has_more:
                break
            start = page.items[-1].key + "\0"
        # Revision 0 listed the newest state, which the stream may not have reached.
        await self._freshness.wait_for(revision)
        # Removed, or the whole ingest was reloaded meanwhile: that has settled it.
        if self._late.get(cache) is not held:
            return
        del self._late[cache]
        cache.load(found, revision)
        for change in held:
            if change.revision > revision:
                cache.apply(change)

    def _is_of(self, cache: WatchCache, key: str) -> bool:
        return self._routes.find(key) is cache

    def __repr__(self) -> str:
        match self._state:
            case Listing(why=why):
                state = f"listing{': ' + why if why else ''}"
            case Following():
                state = f"following at {self._freshness.revision}"
        return f"<Ingest {state}, {len(self._late)} resources loading>"


def _pieces(changes: tuple[Change, ...]) -> Iterator[list[Change]]:
    """Parts small enough for one turn of the loop, never cut inside a revision."""
    piece: list[Change] = []
    size = 0
    for change in changes:
        is_full = len(piece) >= _TURN_CHANGES or size >= _TURN_BYTES
        if is_full and change.revision != piece[-1].revision:
            yield piece
            piece, size = [], 0
        piece.append(change)
        size += len(change.new.value) if change.new is not None else 0
    if piece:
        yield piece
