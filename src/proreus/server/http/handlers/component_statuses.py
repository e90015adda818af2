"""``componentstatuses``: an old way to ask how the store is; it lists what this server has."""

from __future__ import annotations

from proreus.api.status import MethodNotAllowed, NotFound
from proreus.api.wire import json
from proreus.net.http_request import Answer
from proreus.server.http.exchange import Exchange
from proreus.server.http.handlers.answers import list_answer, object_answer
from proreus.server.http.handlers.list import checked_options
from proreus.server.http.router import ResourceRoute
from proreus.server.http.services import Services
from proreus.server.registry.collection import cached_copy
from proreus.server.watch_cache.object import CachedObject
from proreus.server.watch_cache.query import Listing

_NAME = "etcd-0"


async def list_statuses(services: Services, exchange: Exchange, route: ResourceRoute) -> Answer:
    shown = services.representations.of(exchange, route.resource)
    if checked_options(exchange).watch:
        raise MethodNotAllowed.of(route.resource.group_resource, "watch")
    body = shown.view.listing(Listing([_store()], 0))
    return list_answer(exchange, shown, body)


async def get_status(services: Services, exchange: Exchange, route: ResourceRoute) -> Answer:
    if route.name != _NAME:
        raise NotFound.of(route.resource.group_resource, route.name)
    shown = services.representations.of(exchange, route.resource)
    return object_answer(exchange, shown, _store())


def _store() -> CachedObject:
    healthy = {"type": "Healthy", "status": "True", "message": "ok"}
    value = json.encode({"metadata": {"name": _NAME}, "conditions": [healthy]})
    return cached_copy(_NAME, value, None)
