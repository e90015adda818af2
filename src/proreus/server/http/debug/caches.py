"""The watch caches: how far they are, how much of the past they hold, who watches."""

from __future__ import annotations

from proreus.api.json_types import JsonObject
from proreus.server.http.exchange import Exchange
from proreus.server.http.services import Services
from proreus.server.registry.collection import Collection


async def show_caches(services: Services, exchange: Exchange) -> JsonObject:
    collections = services.collections
    return {
        "revision": collections.caches.revision,
        "caches": [_cache(collection) for collection in collections.stored()],
    }


def _cache(collection: Collection) -> JsonObject:
    resource, cache = collection.resource, collection.cache
    found = cache.inspect()
    return {
        "group": resource.group,
        "version": resource.version,
        "resource": resource.plural,
        "ready": cache.is_ready,
        "objects": found.objects,
        "revision": cache.revision,
        "oldestRevision": found.oldest_revision,
        "windowEvents": found.window_events,
        "windowCapacity": found.window_capacity,
        "watchers": len(cache.subscribers),
        "secondsSinceEvent": found.since_event_s,
    }
