"""``componentstatuses``, which is deprecated: the state of the store, as one component."""

from __future__ import annotations

from proreus.api.status import MethodNotAllowed, PlainError
from proreus.api.wire import json
from proreus.net.http1.messages import Answer
from proreus.server.http.exchange import Exchange
from proreus.server.http.handlers.answers import list_answer, object_answer, refuse_form
from proreus.server.http.handlers.list import checked_options
from proreus.server.http.router import ResourceRoute
from proreus.server.http.services import Services
from proreus.server.registry.verbs.select import known_fields
from proreus.server.watch_cache.object import CachedObject
from proreus.server.watch_cache.query import ListResult

_NAME = "etcd-0"


async def list_statuses(services: Services, exchange: Exchange, route: ResourceRoute) -> Answer:
    representation = services.representations.negotiate(exchange, route.resource)
    options = checked_options(exchange)
    fields = known_fields(route.resource, options.fields)
    if options.watch:
        raise MethodNotAllowed.of(route.resource.group_resource, "watch")
    is_wanted = options.labels.matches({}) and fields.matches({"metadata.name": _NAME})
    refuse_form(representation, route.resource, is_list=True)
    found = ListResult([_store()] if is_wanted else [], 0)
    return await list_answer(services, exchange, representation, found)


async def get_status(services: Services, exchange: Exchange, route: ResourceRoute) -> Answer:
    if route.name != _NAME:
        # A failure without a reason, since Kubernetes looks among servers and not in storage.
        raise PlainError(f"Component not found: {route.name}")
    representation = services.representations.negotiate(exchange, route.resource)
    refuse_form(representation, route.resource, is_list=False)
    return await object_answer(services, exchange, representation, _store())


def _store() -> CachedObject:
    healthy = {"type": "Healthy", "status": "True", "message": "ok"}
    item = json.encode({"metadata": {"name": _NAME}, "conditions": [healthy]})[1:]
    return CachedObject(_NAME, 0, item, namespace="", name=_NAME, labels={}, fields={})
