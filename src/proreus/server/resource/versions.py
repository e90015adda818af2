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
from proreus.api.patch.ownership import NeedsConversion
from proreus.server.offload import Runner
from proreus.server.watch_cache.cache import WatchCache
from proreus.server.watch_cache.object import EncodedObject
from proreus.server.watch_cache.query import ListQuery, ListResult, WatchQuery
from proreus.server.watch_cache.subscriber import Subscriber
from proreus.server.watch_cache.view import EncodingView, Sink

T = TypeVar("T")


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

    def converted_nowait(self, obj: JsonObject, api_version: str) -> JsonObject | NeedsConversion:
        """NeedsConversion: what it would be is not known yet. Raises KeyError for an unknown
        version."""
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
    versions: Versions | None, run: Callable[[], T | NeedsConversion], runner: Runner
) -> T:
    """Run pure code that may need conversions: again after each one it was missing.

    It asks for no more than the versions its object's owners wrote in.
    """
    while isinstance(found := await runner.run(run), NeedsConversion):
        assert versions is not None, "only kinds with a webhook need conversions"
        await versions.converted(found.obj, found.api_version)
    return found
