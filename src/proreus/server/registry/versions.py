"""Kinds whose versions only somebody else can tell apart: what verbs and handlers ask of them.

Conversion by webhook is a call over the network, so it happens at three places and no others:
objects are converted after they were read (``served``, ``listing``), before they are stored
(``to_stored``), and between the watch cache and a watcher (``watch``). In between, everything works
in the version of the request. The one implementation is ``server.custom``; kinds without a webhook
have none.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol, TypeVar

from proreus.server.schema.rules import JsonObject
from proreus.server.watch_cache.cache import WatchCache
from proreus.server.watch_cache.object import CachedObject
from proreus.server.watch_cache.query import Listing, ListQuery, WatchQuery
from proreus.server.watch_cache.subscriber import Subscriber
from proreus.server.watch_cache.view import Sink, View

T = TypeVar("T")


class NeedsConversion(Exception):
    """Pure code needs an object in another version; ``answered`` gets it and runs it again."""

    def __init__(self, obj: JsonObject, api_version: str) -> None:
        super().__init__(api_version)
        self.obj = obj
        self.api_version = api_version


class Versions(Protocol):
    """One served version of such a kind. Everything raises PlainError if conversion fails."""

    def written_in(self, version: str) -> str:
        """The apiVersion of an object whose bytes say this, or nothing."""
        ...

    async def served(
        self, objects: Sequence[CachedObject], *, remembers: bool = True
    ) -> list[CachedObject]:
        """The same objects in this version, by one call for all that need it.

        ``remembers`` False: an object is not what its revision says (a dry run).
        """
        ...

    async def to_stored(self, obj: JsonObject) -> JsonObject: ...

    def converted_nowait(self, obj: JsonObject, api_version: str) -> JsonObject:
        """Raises NeedsConversion if nobody asked before, KeyError if there is no such version."""
        ...

    async def answer(self, asked: NeedsConversion) -> None: ...

    async def listing(self, cache: WatchCache, query: ListQuery) -> Listing:
        """As ``WatchCache.list``, with selectors judged on what is shown."""
        ...

    async def watch(
        self, cache: WatchCache, query: WatchQuery, view: View, sink: Sink
    ) -> Subscriber:
        """As ``WatchCache.watch``; events are converted before they are written, in order."""
        ...


async def answered(versions: Versions | None, run: Callable[[], T]) -> T:
    """Run pure code that may need conversions: again after each one it was missing.

    It asks for no more than the versions its object's owners wrote in.
    """
    if versions is None:
        return run()
    while True:
        try:
            return run()
        except NeedsConversion as asked:
            needed = asked
        await versions.answer(needed)
