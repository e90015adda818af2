"""Who watches what: one entry per open watch, for people who look (``debug/watchers``).

Written when a watch begins and when it ends, never by an event.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from contextlib import contextmanager

from proreus.lazy_dataclass import dataclass
from proreus.server.http.exchange import Exchange
from proreus.server.registry.collection import Collection
from proreus.server.watch_cache.query import Selection
from proreus.server.watch_cache.subscriber import Subscriber


@dataclass(frozen=True, slots=True)
class OpenWatch:
    id: str
    exchange: Exchange
    collection: Collection
    selection: Selection  # as it was asked for: of converted kinds the cache knows less
    subscriber: Subscriber
    opened_s: float


class OpenWatches:
    def __init__(self) -> None:
        self._open: dict[str, OpenWatch] = {}
        self._ids = itertools.count(1)

    @contextmanager
    def open(
        self,
        exchange: Exchange,
        collection: Collection,
        selection: Selection,
        subscriber: Subscriber,
        now_s: float,
    ) -> Iterator[None]:
        """While the watch lasts."""
        number = str(next(self._ids))
        self._open[number] = OpenWatch(number, exchange, collection, selection, subscriber, now_s)
        try:
            yield
        finally:
            del self._open[number]

    def __iter__(self) -> Iterator[OpenWatch]:
        return iter(list(self._open.values()))

    def __len__(self) -> int:
        return len(self._open)

    def __repr__(self) -> str:
        return f"<OpenWatches: {len(self._open)}>"
