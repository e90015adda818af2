"""What the store still has of the past: since when, and an object's versions."""

from __future__ import annotations

from proreus.api.json_types import JsonObject
from proreus.api.status import BadRequest, NotFound
from proreus.server.authz.authorizer import Action
from proreus.server.http.debug.calendar_time import calendar_time
from proreus.server.http.debug.page_query import page_query, queried_collection
from proreus.server.http.debug.writer import written_by
from proreus.server.http.exchange import Exchange
from proreus.server.http.services import Services
from proreus.server.registry.collection import Collection, UnreadableObject
from proreus.server.storage.interface import PastValue, StoredValue
from proreus.server.watch_cache.view import ADDED, DELETED, MODIFIED

_BEFORE = "BEFORE"  # it was there when what the store has begins


async def show_history(services: Services, exchange: Exchange) -> JsonObject:
    storage = services.collections.stores.storage
    revision = await storage.current_revision()
    return {"oldestRevision": max(storage.compacted_revision, 1), "revision": revision}


async def show_versions(services: Services, exchange: Exchange) -> JsonObject:
    """Raises BadRequest, NotFound, and Denied if the user may not get the object itself."""
    query = page_query(exchange)
    collection = queried_collection(services, query)
    resource, storage = collection.resource, services.collections.stores.storage
    if not query.name:
        raise BadRequest("name: must be given")
    action = Action(
        user=exchange.user,
        verb="get",
        group=resource.group,
        version=resource.version,
        resource=resource.plural,
        namespace=query.namespace,
        name=query.name,
    )
    await services.authorization.check(action)
    key = resource.prefix + collection.key(query.namespace, query.name)
    begins = storage.compacted_revision
    found = await storage.versions(key, limit=query.limit)
    if not found:
        raise NotFound.of(resource.group_resource, query.name)
    versions: list[JsonObject] = []
    before: JsonObject | None = None
    for number, version in enumerate(found):
        obj = await _decoded(collection, key, version)
        writer = written_by(obj, before)
        is_first = number == 0 or found[number - 1].value is None
        versions.append(
            {
                "revision": version.revision,
                "type": _type(version, is_first=is_first, is_new=version.revision > begins),
                "time": calendar_time(services, storage.committed_at(version.revision))
                or writer.time
                or None,
                "manager": writer.manager or None,
                "object": obj,
            }
        )
        before = obj
    return {"versions": versions}


def _type(version: PastValue, *, is_first: bool, is_new: bool) -> str:
    if version.value is None:
        return DELETED
    if not is_new:
        return _BEFORE
    return ADDED if is_first else MODIFIED


async def _decoded(collection: Collection, key: str, version: PastValue) -> JsonObject | None:
    """In the version asked for; None if it was deleted, or cannot be read."""
    if version.value is None:
        return None
    try:
        loaded = await collection.load(StoredValue(key, version.value, version.revision))
    except UnreadableObject:
        return None
    return collection.to_served(loaded)
