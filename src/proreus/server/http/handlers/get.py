"""GET of one object: stored bytes behind a head, never decoded (spec/server §2.5)."""

from __future__ import annotations

from proreus.api.status import BadRequest, NotFound, PlainError
from proreus.api.wire.query import RevisionError, boolean, first, parse_resource_version
from proreus.net.http_request import Answer
from proreus.server.http.exchange import Exchange
from proreus.server.http.handlers.answers import object_answer, refuse_form
from proreus.server.http.router import ResourceRoute
from proreus.server.http.services import Services
from proreus.server.registry.collection import Collection, cached_copy
from proreus.server.registry.failures import told_as
from proreus.server.watch_cache.object import CachedObject


async def get(services: Services, exchange: Exchange, route: ResourceRoute) -> Answer:
    collection = services.collection(route.resource)
    shown = services.representations.of(exchange, route.resource)
    key = collection.key(route.namespace, route.name)
    version = ""
    if exchange.request.raw_query:
        if boolean(exchange.query, "export"):
            raise BadRequest("the export parameter, deprecated since v1.14, is no longer supported")
        version = first(exchange.query, "resourceVersion")
    found = await read_object(collection, key, version)
    if found is None:
        raise NotFound.of(route.resource.group_resource, route.name)
    refuse_form(shown, route.resource, is_list=False)
    return object_answer(exchange, shown, found)


async def read_object(collection: Collection, key: str, version: str) -> CachedObject | None:
    """Without a version the newest state; with one the cache is good enough."""
    found = await _read(collection, key, version)
    versions = collection.resource.versions
    if found is None or versions is None:
        return found
    return (await versions.served((found,)))[0]


async def _read(collection: Collection, key: str, version: str) -> CachedObject | None:
    """The newest is in storage, and in the cache too if storage can tell at once that it is."""
    if version:
        try:
            at_least = parse_resource_version(version)
        except RevisionError as error:
            raise PlainError(str(error)) from error
        return await collection.cache.get(key, at_least=at_least)
    at_hand = collection.cache.peek(key)
    if at_hand is not None and collection.store.is_newest(key, at_hand.revision):
        return at_hand
    with told_as(collection.resource.group_resource, key.rpartition("/")[2], "get"):
        stored = await collection.store.get(key)
    return None if stored is None else cached_copy(key, stored.value, stored.revision)
