"""From a permitted request to its handler."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping

from proreus.api.status import MethodNotAllowed
from proreus.api.wire.path import ApiPath
from proreus.net.http_server import Answer
from proreus.server.http.documents import Documents
from proreus.server.http.exchange import Exchange
from proreus.server.http.handlers.create import create
from proreus.server.http.handlers.delete import delete, delete_collection
from proreus.server.http.handlers.get import get
from proreus.server.http.handlers.list import list_or_watch
from proreus.server.http.handlers.update import update
from proreus.server.http.negotiation import check_routed
from proreus.server.http.router import PageNotFound, ResourceRoute, Router
from proreus.server.http.services import Services

Handler = Callable[[Services, Exchange, ResourceRoute], Awaitable[Answer]]

_VERBS: Mapping[str, Handler] = {
    "get": get,
    "list": list_or_watch,
    "create": create,
    "update": update,
    "delete": delete,
    "deletecollection": delete_collection,
}


class Dispatch:
    def __init__(self, services: Services, documents: Documents) -> None:
        self._services = services
        self._documents = documents
        self._router = Router(services.catalog)

    async def __call__(self, exchange: Exchange) -> Answer:
        target = exchange.target
        if not isinstance(target, ApiPath):
            return await self._documents.answer(exchange, target.parts)
        route = self._router.route(exchange.method, target)
        if isinstance(route, PageNotFound):
            return exchange.text(404, "404 page not found\n")
        accept = exchange.headers.get("Accept", "")
        if accept:
            check_routed(accept, is_collection=target.is_collection and exchange.method == "GET")
        handler = _VERBS.get(route.verb)
        if handler is None:
            raise MethodNotAllowed.default()
        return await handler(self._services, exchange, route)
