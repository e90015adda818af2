"""The one reader of storage's changes: list everything once, then follow, and route by prefix.

    Relisting ─▶ Following(after) ──lost──▶ Following(after)     resume first
       ▲              └──compacted, or storage was set back──┐
       └─────────────────────────────────────────────────────┘

Receives: ChangeBatch, from storage.  Hands on: Change, to the ``cache`` of its resource.
What was there before a change is in the caches; storage need not say.
Invariant: changes are applied in revision order; ``freshness`` says N only when every change up to
N has been applied to every loaded cache. Changes of one revision are applied without an await.

With ``remembered`` a list is read that many writes in the past, and the changes since are applied
to it before anybody can look: so a watcher can resume whose server has been restarted, or whose
kind has been defined anew. With ``begins_now`` nothing is read that is older than the first list.

One watch for all resources, because then an idle resource is as fresh as a busy one and a server
with a hundred kinds holds one stream. Caches that are added later list their own prefixes, as far
in the past as the others began, while changes to them wait.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Iterator, Sequence
from typing import assert_never

from proreus.aio.backoff import Backoff
from proreus.aio.clock import Clock, deadline
from proreus.api.status import ResourceVersionTooLarge
from proreus.lazy_dataclass import dataclass
from proreus.server.storage.interface import (
    Change,
    ChangeBatch,
    Compacted,
    FutureRevision,
    Storage,
    StorageError,
    Unavailable,
)
from proreus.server.storage.keyspace import ROOT
from proreus.server.storage.progress import asking_for_progress
from proreus.server.watch_cache.cache import WatchCache
from proreus.server.watch_cache.freshness import Freshness
from proreus.server.watch_cache.object import CachedObject
from proreus.server.watch_cache.routes import Routes

_PAGE = 1000
_RELIST_AFTER_S = 1.0
_PAST_WAIT_S = 3.0
# How much may be applied in one turn of the loop before sinks get a chance to send.
_TURN_CHANGES = 128
_TURN_BYTES = 512 * 1024

_log = logging.getLogger(__name__)

Objects = dict[WatchCache, list[CachedObject]]
ReadAt = Callable[[int], Awaitable[tuple[Objects, int]]]


@dataclass(frozen=True, slots=True)
class Relisting:
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
        begins_now: bool = False,
    ) -> None:
        self._storage = storage
        self._clock = clock
        self._freshness = freshness
        self._routes = routes
        self._remembered = remembered
        # No list is read further in the past; None: that of the first list, which is of now.
        self._oldest = None if begins_now else 1
        self._state: Relisting | Following = Relisting()
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

    @property
    def is_loading(self) -> bool:
        """Some cache is not filled yet."""
        return bool(self._late) or not isinstance(self._state, Following)

    async def run(self) -> None:
        """Keep the caches filled, for ever."""
        self._state = Relisting()
        async with asyncio.TaskGroup() as parts:
            parts.create_task(self._load_late_ones(), name="watch cache: late resources")
            while True:
                match self._state:
                    case Relisting(why=why):
                        self._state = await self._list(why)
                    case Following(after=after):
                        self._state = await self._follow(after)
                    case other:
                        assert_never(other)

    async def _list(self, why: str) -> Relisting | Following:
        """Every cache from one paged list, or try again after a second."""
        caches = list(self._routes)
        self._late.clear()
        for cache in caches:
            cache.begin_load(why)
        try:
            found, revision, since = await self._read(ROOT, self._read_all)
        except StorageError as error:
            _log.warning("storage could not be listed: %s", error)
            await self._clock.sleep(_RELIST_AFTER_S)
            return Relisting(str(error))
        self._oldest = self._oldest or revision
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

    async def _read(self, prefix: str, read_at: ReadAt) -> tuple[Objects, int, ChangeBatch]:
        """Everything as it was at a revision, and what has been written under ``prefix`` since."""
        newest = await self._storage.current_revision()
        oldest = newest if self._oldest is None else self._oldest
        past = max(newest - self._remembered, self._storage.compacted_revision, oldest)
        if past < newest:
            try:
                found, revision = await read_at(past)
                async with deadline(self._clock, _PAST_WAIT_S):
                    return found, revision, await self._read_since(prefix, revision)
            except (Compacted, FutureRevision, TimeoutError) as why:
                _log.info("the recent past is not known, beginning with the present: %r", why)
        found, revision = await read_at(0)
        return found, revision, ChangeBatch((), revision)

    async def _read_since(self, prefix: str, revision: int) -> ChangeBatch:
        newest = await self._storage.current_revision()
        changes: list[Change] = []
        if newest > revision:
            async with (
                self._storage.watch(prefix, after=revision, with_old=False) as batches,
                # The newest write may be no object's.
                asking_for_progress(self._storage, self._clock),
            ):
                async for batch in batches:
                    changes += batch.changes
                    revision = batch.revision
                    if revision >= newest:
                        break
        return ChangeBatch(tuple(changes), revision)

    async def _read_all(self, revision: int) -> tuple[Objects, int]:
        return await self._read_prefixes((ROOT,), revision)

    async def _read_prefixes(self, prefixes: Sequence[str], revision: int) -> tuple[Objects, int]:
        """Objects by their cache, all at one revision: ``revision``, or if it is 0 the newest."""
        found: Objects = {}
        for prefix in prefixes:
            start = prefix
            while True:
                page = await self._storage.list(prefix, start=start, limit=_PAGE, revision=revision)
                revision = page.revision
                for stored in page.items:
                    if (cache := self._routes.find(stored.key)) is not None:
                        found.setdefault(cache, []).append(cache.read(stored))
                if not page.has_more:
                    break
                start = page.items[-1].key + "\0"
        return found, revision

    async def _follow(self, after: int) -> Relisting | Following:
        try:
            async with self._storage.watch(ROOT, after=after, with_old=False) as batches:
                async for batch in batches:
                    await self._take(batch)
            why: StorageError = Unavailable("the stream of changes ended")
        except (Compacted, FutureRevision) as gone:
            _log.warning("changes after %d are gone, listing again: %s", after, gone)
            return Relisting(str(gone))
        except StorageError as lost:
            why = lost
        delay_s = self._backoff.next()
        level = logging.INFO if isinstance(why, Unavailable) else logging.ERROR
        _log.log(level, "the stream of changes was lost, resuming in %.2f s: %s", delay_s, why)
        await self._clock.sleep(delay_s)
        return Following(self._freshness.revision)

    async def _take(self, batch: ChangeBatch) -> None:
        for piece in _pieces(batch.changes):
            changed: dict[WatchCache, None] = {}  # in the order of their changes
            for change in piece:
                cache = self._routes.find(change.key)
                if cache is None:
                    continue
                if self._late and cache in self._late:
                    self._late[cache].append(change)
                else:
                    cache.apply(change)
                    changed[cache] = None
            self._freshness.reached(piece[-1].revision)
            for cache in changed:
                cache.end_turn()
            if piece[-1] is not batch.changes[-1]:
                await asyncio.sleep(0)
        self._freshness.reached(batch.revision)

    async def _load_late_ones(self) -> None:
        while True:
            await self._late_added.wait()
            self._late_added.clear()
            late = dict(self._late)
            try:
                await self._load_late(late)
            except (StorageError, ResourceVersionTooLarge) as error:
                for cache in late:
                    if cache in self._late:
                        cache.begin_load(str(error))
                self._late_added.set()
                await self._clock.sleep(_RELIST_AFTER_S)

    async def _load_late(self, late: dict[WatchCache, list[Change]]) -> None:
        """List new resources, with a past like the others', then add what has changed since.

        All of them together: a server that starts with a hundred custom resources reads its
        recent past once more, not a hundred times.
        """
        if not late:
            return
        prefixes = [cache.kind.prefix for cache in late]
        found, revision, since = await self._read(
            prefixes[0] if len(prefixes) == 1 else ROOT,
            lambda revision: self._read_prefixes(prefixes, revision),
        )
        # What was read may be newer than what the stream has reached.
        await self._freshness.wait_for(since.revision)
        changes: dict[WatchCache | None, list[Change]] = {}
        for change in since.changes:
            changes.setdefault(self._routes.find(change.key), []).append(change)
        for cache, held in late.items():
            # Removed, or the whole ingest was reloaded meanwhile: that has settled it.
            if self._late.get(cache) is not held:
                continue
            del self._late[cache]
            cache.load(found.get(cache, ()), revision)
            for change in changes.get(cache, ()):
                cache.apply(change)
            for change in held:
                if change.revision > since.revision:
                    cache.apply(change)

    def __repr__(self) -> str:
        match self._state:
            case Relisting(why=why):
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
