"""What plugins read of other objects: from the watch cache, decoded on the spot.

Caches may lag behind by a moment, as they do in Kubernetes; a plugin that must not miss an object
asks storage when the cache does not know it.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from proreus.api.wire import json, splice
from proreus.server.registry.collection import Collection
from proreus.server.watch_cache.query import Any as Whatever
from proreus.server.watch_cache.query import ListQuery, Selection


async def find(collection: Collection, key: str) -> dict[str, Any] | None:
    """One object, from the cache or else from storage."""
    cached = collection.cache.peek(key)
    if cached is not None:
        return splice.decode_item(cached.item)
    stored = await collection.store.get(key)
    if stored is None:
        return None
    found: dict[str, Any] = json.decode(stored.value)
    return found


async def each(
    collection: Collection, namespace: str = "", *, having: bytes = b""
) -> Iterator[dict[str, Any]]:
    """All objects of a namespace (or of all), in key order. Decodes as it is read.

    ``having``: those whose bytes do not contain this are passed over unread.

    Every create asks several times, mostly where there is nothing: that costs a microsecond.
    """
    at_hand = collection.cache.peek_all(namespace)
    if at_hand is not None:
        return (splice.decode_item(obj.item) for obj in at_hand if having in obj.item)
    query = ListQuery(selection=Selection(namespace=namespace), state=Whatever())
    listing = await collection.cache.list(query)
    return (splice.decode_item(obj.item) for obj in listing.objects if having in obj.item)
