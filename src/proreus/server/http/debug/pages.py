"""Which page is asked for, and its answer as JSON."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping

from proreus.api.json_types import JsonObject
from proreus.api.status import MethodNotAllowed
from proreus.api.wire import json
from proreus.lazy_dataclass import dataclass
from proreus.net.http1.messages import Answer
from proreus.server.http.debug.caches import show_caches
from proreus.server.http.debug.clients import show_clients, take_report
from proreus.server.http.debug.history import show_history, show_versions
from proreus.server.http.debug.route import show_route
from proreus.server.http.debug.watchers import show_watchers
from proreus.server.http.exchange import Exchange
from proreus.server.http.services import Services

Page = Callable[[Services, Exchange], Awaitable[JsonObject]]

_CLIENTS = ("debug", "listwatch", "clients")
_PAGES: Mapping[tuple[str, ...], Page] = {
    _CLIENTS: show_clients,
    ("debug", "listwatch", "caches"): show_caches,
    ("debug", "listwatch", "watchers"): show_watchers,
    ("debug", "listwatch", "route"): show_route,
    ("debug", "history"): show_history,
    ("debug", "history", "object"): show_versions,
}


@dataclass(frozen=True, slots=True)
class DebugPages:
    services: Services

    async def answer(self, exchange: Exchange, parts: tuple[str, ...]) -> Answer | None:
        """None: there is no such page. Raises ApiError."""
        page = _PAGES.get(parts)
        if page is None:
            return None
        if exchange.method == "POST" and parts == _CLIENTS:
            page = take_report
        elif exchange.method != "GET":
            raise MethodNotAllowed.default()
        return exchange.json(200, json.encode(await page(self.services, exchange)) + b"\n")
