"""Answers to get and list: how fresh, from where, which page (server.md §2.5).

    latest          ask storage for its revision, wait for it, answer from the snapshot;
                    not confirmed in 3 s: storage itself answers
    any             the snapshot as it is
    not older than  wait for the revision, then the snapshot
    exact           wait for the revision, then the snapshot with later changes undone;
                    older than history: storage at that revision

Cost: a list without selectors copies pointers; a filter runs over precomputed labels and fields, in
slices of some thousand objects between which others get their turn.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import chain
from typing import assert_never

from proreus.api.status import Expired, ResourceVersionTooLarge
from proreus.lazy_dataclass import dataclass
from proreus.server.watch_cache.from_storage import FromStorage
from proreus.server.watch_cache.object import CachedObject
from proreus.server.watch_cache.past_state import PastState
from proreus.server.watch_cache.query import (
    AnyState,
    Exact,
    Latest,
    ListQuery,
    ListResult,
    NotOlderThan,
    State,
)
from proreus.server.watch_cache.selecting import filtered, key_range, matcher_in_range
from proreus.server.watch_cache.state import CacheState, SharedParts

Objects = list[CachedObject]
Runs = Iterator[Objects]
_SLICE = 500  # objects; testing so many takes up to half a millisecond
_MANY = 1_000  # objects that may have to be looked at


class Lists:
    def __init__(self, state: CacheState, shared: SharedParts, stored: FromStorage) -> None:
        self._state = state
        self._storage = shared.storage
        self._freshness = shared.freshness
        self._metrics = shared.metrics
        self._turns = shared.turns
        self._stored = stored
        resource = state.kind.resource
        self._labels = (resource.group, resource.resource)

    def _is_ready(self) -> bool:
        return self._state.readiness.is_ready

    async def get(self, key: str, at_least: int) -> CachedObject | None:
        if not self._is_ready() or not self._state.kind.cached:
            return await self._stored.get(key, at_least)
        await self.wait_for(at_least)
        if not self._is_ready():
            return await self._stored.get(key, at_least)
        return self._state.snapshot.get(key)

    async def list(self, query: ListQuery) -> ListResult:
        if len(self._state.snapshot) >= _MANY and not 0 < query.limit < _MANY:
            await self._turns.wait()
        if not self._is_ready():
            return await self._list_while_not_ready(query)
        generation = self._state.readiness.generation
        if not await self._is_fresh_enough(query.state):
            return await self._stored.list(query)
        if generation != self._state.readiness.generation or not self._is_ready():
            return await self._list_while_not_ready(query)
        if isinstance(query.state, Exact):
            return await self._list_exact(query, query.state.revision)
        if isinstance(query.state, AnyState) and self._state.kind.cached:
            query = ListQuery(query.selection, query.state, 0, query.start)
        return await self._page_of_present(query)

    async def _list_while_not_ready(self, query: ListQuery) -> ListResult:
        is_cheap = query.limit > 0 and not query.selection.has_selectors
        if isinstance(query.state, Exact) or is_cheap or not self._state.kind.cached:
            return await self._stored.list(query)
        self._state.readiness.check()
        return await self.list(query)

    async def _is_fresh_enough(self, state: State) -> bool:
        """False: storage must answer. Raises ResourceVersionTooLarge."""
        match state:
            case AnyState() if self._state.kind.cached:
                return True
            case AnyState() | Latest():
                return await self._is_latest()
            case NotOlderThan(revision=revision) | Exact(revision=revision):
                if not self._state.kind.cached:
                    current = await self._storage.current_revision()
                    if revision > current:
                        raise ResourceVersionTooLarge.of(revision, current, retry_after_s=0)
                    if isinstance(state, NotOlderThan):
                        return await self._is_latest()
                await self.wait_for(revision)
                return True
            case other:
                assert_never(other)

    async def _is_latest(self) -> bool:
        current = await self._storage.current_revision()
        try:
            await self.wait_for(current)
        except ResourceVersionTooLarge:
            self._metrics.consistent_reads.labels(*self._labels, "false", "true").inc()
            return False
        self._metrics.consistent_reads.labels(*self._labels, "true", "false").inc()
        return True

    async def wait_for(self, revision: int) -> None:
        if revision > self._freshness.revision:
            waited_s = await self._freshness.wait_for(revision)
            self._metrics.read_wait_s.labels(*self._labels).observe(waited_s)

    async def _list_exact(self, query: ListQuery, revision: int) -> ListResult:
        if revision < self._storage.compacted_revision:
            raise Expired("The resourceVersion for the provided list is too old.")
        history = self._state.history
        if revision < history.complete_after:
            return await self._stored.list(query)
        past = PastState(self._state.snapshot, history, revision)
        low, high = key_range(query.selection)
        low = max(low, query.start)
        page = await self._page(past.runs(low, high), query)
        return _listing(page, revision, query, lambda: past.count(low, high))

    async def _page_of_present(self, query: ListQuery) -> ListResult:
        # What the page is of; while it is filtered, the present moves on.
        revision, written_after = self._freshness.revision, self._state.written_after
        page = await self._page(self._state.present(query.selection, query.start), query)
        low, high = key_range(query.selection)
        low = max(low, query.start)
        count = self._state.snapshot.count
        return _listing(page, revision, query, lambda: count(low, high), written_after)

    async def _page(self, runs: Runs, query: ListQuery) -> _Page:
        """``runs`` are read before the first await. Without selectors there is none."""
        if matcher_in_range(query.selection) is not None:
            page = await self._filtered_page([*chain.from_iterable(runs)], query)
        elif query.limit > 0:
            page = _first(runs, query.limit)
        else:
            everything = [*chain.from_iterable(runs)]
            page = _Page(everything, len(everything), is_more=False)
        counts = self._state.counts
        counts.lists += 1
        counts.fetched += page.fetched
        counts.returned += len(page.objects)
        return page

    async def _filtered_page(self, everything: Objects, query: ListQuery) -> _Page:
        objects: Objects = []
        fetched = 0
        while fetched < len(everything):
            if fetched:
                await self._turns.wait()
            slice_ = everything[fetched : fetched + _SLICE]
            fetched += len(slice_)
            objects += filtered(slice_, query.selection)
            if 0 < query.limit <= len(objects):
                del objects[query.limit :]
                return _Page(objects, fetched, is_more=objects[-1] is not everything[-1])
        return _Page(objects, fetched, is_more=False)


@dataclass(frozen=True, slots=True)
class _Page:
    objects: list[CachedObject]
    fetched: int
    is_more: bool


def _first(runs: Runs, limit: int) -> _Page:
    """The first ``limit`` objects, and whether any keys follow the last of them."""
    objects: list[CachedObject] = []
    fetched = 0
    for run in runs:
        room = limit - len(objects)
        if not room:
            return _Page(objects, fetched, is_more=True)
        fetched += len(run)
        objects += run[:room]
        if len(run) > room:
            return _Page(objects, fetched, is_more=True)
    return _Page(objects, fetched, is_more=False)


def _listing(
    page: _Page,
    revision: int,
    query: ListQuery,
    count: Callable[[], int],
    written_after: int = 0,
) -> ListResult:
    """``count`` counts the keys from the page's start on."""
    if not page.is_more:
        return ListResult(page.objects, revision, written_after=written_after)
    # Selectors decide what of the rest matches, and counting alone does not evaluate them.
    is_countable = matcher_in_range(query.selection) is None
    remaining = count() - len(page.objects) if is_countable else None
    next_start = f"{page.objects[-1].key}\0"
    return ListResult(page.objects, revision, next_start, remaining, written_after)
