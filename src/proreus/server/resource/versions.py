"""Kinds whose versions a webhook converts: what verbs and handlers ask of them.

Conversion by webhook is a call over the network, so it happens at three places and no others:
objects are converted after they were read (``served``, ``listing``), before they are stored
(``to_stored``), and between the watch cache and a watcher (``watch``). In between, everything works
in the version of the request. The one implementation is ``server.custom``; kinds without a webhook
have none.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol, TypeVar

from proreus.api.json_types import JsonObject
from proreus.server.offload import Runner
from proreus.server.watch_cache.cache import WatchCache
from proreus.server.watch_cache.object import EncodedObject
from proreus.server.watch_cache.query import ListQuery, ListResult, WatchQuery
from proreus.server.watch_cache.subscriber import Subscriber
from proreus.server.watch_cache.view import EncodingView, Sink

T = TypeVar("T")


class NeedsConversion(Exception):
    """Pure code needs an object in another version; ``run_with_conversions`` gets it.

    An exception, not a result: it is raised inside of ``api.patch``, a dozen calls below, and what
    was computed up to there is of no use.
    """

    def __init__(self, obj: JsonObject, api_version: str) -> None:
        super().__init__(api_version)
        self.obj = obj
        self.api_version = api_version


class Versions(Protocol):
    """One served version of such a kind. Everything raises PlainError if conversion fails."""

    def written_in(self, version: str) -> str:
        """The apiVersion of an object whose bytes say this, or nothing."""
        ...

    async def served(self, obj: EncodedObject, *, remembers: bool = True) -> EncodedObject:
        """The same object in this version.

        ``remembers`` False: it may not be what its revision says (a dry run).
        """
        ...

    async def to_stored(self, obj: JsonObject) -> JsonObject: ...

    def converted_nowait(self, obj: JsonObject, api_version: str) -> JsonObject:
        """Raises NeedsConversion for what is not known yet, KeyError for an unknown version."""
        ...

    async def converted(self, obj: JsonObject, api_version: str) -> JsonObject:
        """The same, waited for. Raises KeyError for an unknown version."""
        ...

    async def listing(self, cache: WatchCache, query: ListQuery) -> ListResult:
        """As ``WatchCache.list``, with selectors applied to the converted objects."""
        ...

    async def watch(
        self, cache: WatchCache, query: WatchQuery, view: EncodingView, sink: Sink
    ) -> Subscriber:
        """As ``WatchCache.watch``; events are converted before they are written, in order."""
        ...


async def run_with_conversions(
    versions: Versions | None, run: Callable[[], T], runner: Runner
) -> T:
    """Run pure code that may need conversions: again after each one it was missing.

    It asks for no more than the versions its object's owners wrote in.
    """
    while True:
        try:
            return await runner.run(run)
        except NeedsConversion as asked:
            needed = asked
        assert versions is not None, "only kinds with a webhook need conversions"
        await versions.converted(needed.obj, needed.api_version)
