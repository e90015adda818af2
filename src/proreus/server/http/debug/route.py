"""Recent changes of a resource, and when each was at every stop of its way through the server."""

from __future__ import annotations

from itertools import islice

from proreus.api.json_types import JsonObject
from proreus.api.wire import splice
from proreus.server.http.debug.calendar_time import calendar_time
from proreus.server.http.debug.page_query import PageQuery, page_query, queried_collection
from proreus.server.http.debug.writer import written_by
from proreus.server.http.exchange import Exchange
from proreus.server.http.services import Services
from proreus.server.watch_cache.history import Transition
from proreus.server.watch_cache.inspection import ChangeInspection
from proreus.server.watch_cache.object import CachedObject
from proreus.server.watch_cache.view import ADDED, DELETED, MODIFIED


async def show_route(services: Services, exchange: Exchange) -> JsonObject:
    """Newest first. Raises BadRequest."""
    query = page_query(exchange)
    cache = queried_collection(services, query).cache
    changes = (one for one in cache.recent_changes() if _matches(query, one.transition))
    # Objects are read only to tell who wrote them: no more than are shown.
    return {"changes": [_change(services, one) for one in islice(changes, query.limit)]}


def _matches(query: PageQuery, transition: Transition) -> bool:
    obj = transition.new or transition.old
    assert obj is not None
    return (not query.namespace or obj.namespace == query.namespace) and (
        not query.name or obj.name == query.name
    )


def _change(services: Services, change: ChangeInspection) -> JsonObject:
    transition = change.transition
    old, new = transition.old, transition.new
    obj = new or old
    assert obj is not None
    # The store's clock is the server's: one process.
    committed_s = services.collections.stores.storage.committed_at(transition.revision)
    writer = written_by(_decoded(new), _decoded(old)) if new is not None else None
    return {
        "revision": transition.revision,
        "type": ADDED if old is None else DELETED if new is None else MODIFIED,
        "namespace": obj.namespace,
        "name": obj.name,
        "manager": (writer.manager or None) if writer is not None else None,
        "committedAt": calendar_time(services, committed_s),
        "ingestedAt": calendar_time(services, change.ingested_s),
        "deliveredAt": calendar_time(services, change.delivered_s),
    }


def _decoded(obj: CachedObject | None) -> JsonObject | None:
    return splice.decode_item(obj.item) if obj is not None else None
