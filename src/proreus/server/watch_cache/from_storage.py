"""Reads the cache cannot answer: too old for its history, or while it is not ready.

Receives: ListQuery.  Hands on: Listing, read page by page from storage at one revision.
Cost: every value read becomes a CachedObject (about 15 µs each), so this is the rare way.
"""

from __future__ import annotations

from proreus.aio.turns import Turns
from proreus.api.status import Expired, ResourceVersionTooLarge
from proreus.lazy_dataclass import dataclass
from proreus.server.storage.interface import Compacted, FutureRevision, Storage, StoredValue
from proreus.server.watch_cache.object import CachedObject, ObjectReader
from proreus.server.watch_cache.query import Exact, ListQuery, ListResult
from proreus.server.watch_cache.selecting import key_range, matcher_in_range

_PAGE_MAX = 10_000
_SLICE = 50  # objects read between two turns


@dataclass(frozen=True, slots=True)
class FromStorage:
    storage: Storage
    reader: ObjectReader
    turns: Turns

    async def get(self, key: str, at_least: int) -> CachedObject | None:
        """Raises ResourceVersionTooLarge, at once and without asking for a retry."""
        try:
            stored = await self.storage.get(self.reader.prefix + key, at_least=at_least)
        except FutureRevision as future:
            raise too_large(future) from future
        return None if stored is None else self.reader.read(stored)

    async def list(self, query: ListQuery) -> ListResult:
        """The newest state, or the exact one asked for.

        Raises Expired for one that storage has compacted, ResourceVersionTooLarge.
        """
        revision = query.state.revision if isinstance(query.state, Exact) else 0
        try:
            return await self._list(query, revision)
        except Compacted as gone:
            raise Expired("The resourceVersion for the provided list is too old.") from gone
        except FutureRevision as future:
            raise too_large(future) from future

    async def _list(self, query: ListQuery, revision: int) -> ListResult:
        selection = query.selection
        prefix = self.reader.prefix + (f"{selection.namespace}/" if selection.namespace else "")
        low, high = key_range(selection)
        start, matches = self.reader.prefix + max(low, query.start), matcher_in_range(selection)
        found: list[CachedObject] = []
        page_size = query.limit or _PAGE_MAX
        while True:
            page = await self.storage.list(prefix, start=start, limit=page_size, revision=revision)
            revision = page.revision
            for at, stored in enumerate(page.items):
                if at and at % _SLICE == 0:
                    await self.turns.wait()
                if high and self._relative(stored) >= high:
                    return ListResult(found, revision)
                obj = self.reader.read(stored)
                if matches is None or matches(obj):
                    found.append(obj)
                    if len(found) == query.limit:
                        remaining = page.remaining + len(page.items) - at - 1
                        return _page_of(found, revision, remaining, is_exact=matches is None)
            if not page.has_more:
                return ListResult(found, revision)
            start = page.items[-1].key + "\0"
            page_size = min(page_size * 2, _PAGE_MAX)

    def _relative(self, stored: StoredValue) -> str:
        return stored.key[len(self.reader.prefix) :]


def _page_of(
    found: list[CachedObject], revision: int, remaining: int, *, is_exact: bool
) -> ListResult:
    if not remaining:
        return ListResult(found, revision)
    return ListResult(found, revision, f"{found[-1].key}\0", remaining if is_exact else None)


def too_large(future: FutureRevision) -> ResourceVersionTooLarge:
    return ResourceVersionTooLarge.of(future.wanted, future.current, retry_after_s=0)
