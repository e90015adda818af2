"""Open watches: whose they are, how far each is, what waits for its reader."""

from __future__ import annotations

from proreus.api.json_types import JsonObject
from proreus.server.http.debug.page_query import page_query
from proreus.server.http.exchange import Exchange
from proreus.server.http.open_watches import OpenWatch
from proreus.server.http.services import Services


async def show_watchers(services: Services, exchange: Exchange) -> JsonObject:
    query = page_query(exchange)
    now_s = services.clock.monotonic()
    found = [watch for watch in services.open_watches if query.includes(watch.collection)]
    return {
        "revision": services.collections.caches.revision,
        "watchers": [_watcher(watch, now_s) for watch in found],
    }


def _watcher(watch: OpenWatch, now_s: float) -> JsonObject:
    exchange, resource, selection = watch.exchange, watch.collection.resource, watch.selection
    found = watch.collection.cache.inspect_watcher(watch.subscriber)
    return {
        "id": watch.id,
        "group": resource.group,
        "version": resource.version,
        "resource": resource.plural,
        "namespace": selection.namespace,
        "labelSelector": str(selection.labels),
        "fieldSelector": str(selection.fields),
        "user": exchange.user.name,
        "userAgent": exchange.user_agent(),
        "remoteAddress": exchange.request.peer_address,
        "phase": found.phase,
        "position": found.position,
        "behindEvents": found.behind,
        "bufferedFrames": found.waiting,
        "bufferedBytes": found.buffered_bytes,
        "openSeconds": now_s - watch.opened_s,
        "eventsSent": found.sent,
    }
