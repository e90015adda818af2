"""GET of one object: stored bytes behind a head, never decoded (server.md §2.5)."""

from __future__ import annotations

from proreus.api.status import BadRequest, NotFound, PlainError
from proreus.api.wire.query import RevisionError, boolean, first, parse_resource_version
from proreus.net.http1.messages import Answer
from proreus.server.http.exchange import Exchange
from proreus.server.http.handlers.answers import object_answer, refuse_form
from proreus.server.http.router import ResourceRoute
from proreus.server.http.seats import NO_SEAT, Seat
from proreus.server.http.services import Services
from proreus.server.registry.collection import Collection
from proreus.server.registry.failures import translate_errors
from proreus.server.watch_cache.object import EncodedObject


async def get(services: Services, exchange: Exchange, route: ResourceRoute) -> Answer:
    collection = services.collection(route.resource)
    representation = services.representations.negotiate(exchange, route.resource)
    key = collection.key(route.namespace, route.name)
    version = ""
    if exchange.request.raw_query:
        if boolean(exchange.query, "export"):
            raise BadRequest("the export parameter, deprecated since v1.14, is no longer supported")
        version = first(exchange.query, "resourceVersion")
    found = await read_object(collection, key, version, exchange.seat)
    if found is None:
        raise NotFound.of(route.resource.group_resource, route.name)
    refuse_form(representation, route.resource, is_list=False)
    return await object_answer(services, exchange, representation, found)


async def read_object(
    collection: Collection, key: str, version: str = "", seat: Seat = NO_SEAT
) -> EncodedObject | None:
    """Without a version the newest state; with one the cache is good enough, and ``seat`` is given
    back until it has got so far."""
    found: EncodedObject | None
    if version:
        found = await _read_cached(collection, key, version, seat)
    else:
        # The newest is in storage, and in the cache too if storage says that it is.
        found = at_hand = collection.cache.peek(key)
        if at_hand is None or not collection.store.is_newest(key, at_hand.revision):
            found = await _read_stored(collection, key, is_cached=at_hand is not None)
    versions = collection.resource.versions
    if found is None or versions is None:
        return found
    return await versions.served(found)


async def _read_cached(
    collection: Collection, key: str, version: str, seat: Seat
) -> EncodedObject | None:
    try:
        at_least = parse_resource_version(version)
    except RevisionError as error:
        raise PlainError(str(error)) from error
    if collection.cache.is_before(at_least):
        async with seat.given_back():
            await collection.cache.wait_for(at_least)
    return await collection.cache.get(key, at_least=at_least)


async def _read_stored(
    collection: Collection, key: str, *, is_cached: bool
) -> EncodedObject | None:
    with translate_errors(collection.resource.group_resource, key.rpartition("/")[2], "get"):
        if is_cached:
            confirmed = await collection.cache.confirmed(key)
            if confirmed is not None:
                return confirmed
        stored = await collection.store.get(key)
    return None if stored is None else EncodedObject.of_stored(key, stored.value, stored.revision)
