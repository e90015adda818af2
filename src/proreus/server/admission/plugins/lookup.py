"""Reads of other objects by plugins: from the watch cache, decoded on demand.

Caches may lag behind by a moment, as they do in Kubernetes; a plugin that must not miss an object
asks storage when the cache does not know it. Every create asks several times, mostly where there is
nothing: that costs a microsecond, and no wait while the cache is ready.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable
from typing import Any

from proreus.api.wire import json, splice
from proreus.server.registry.collection import Collection
from proreus.server.watch_cache.object import CachedObject
from proreus.server.watch_cache.query import AnyState, ListQuery, Selection

Objects = list[dict[str, Any]]


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


def at_hand(collection: Collection, namespace: str = "", *, having: bytes = b"") -> Objects | None:
    """All objects of a namespace (or of all), in key order; None if the cache is not ready.

    ``having``: those whose bytes do not contain this are passed over unread.
    """
    found = collection.cache.peek_all(namespace)
    return None if found is None else _decoded(found, having)


async def each(collection: Collection, namespace: str = "", *, having: bytes = b"") -> Objects:
    """The same, once the cache is ready."""
    query = ListQuery(selection=Selection(namespace=namespace), state=AnyState())
    listing = await collection.cache.list(query)
    return _decoded(listing.objects, having)


def with_each(
    use: Callable[[Objects], None],
    collection: Collection,
    namespace: str = "",
    *,
    having: bytes = b"",
) -> Awaitable[None] | None:
    """Give them to ``use``: now if they are at hand, else when what is returned is awaited."""
    found = at_hand(collection, namespace, having=having)
    if found is not None:
        use(found)
        return None

    async def later() -> None:
        use(await each(collection, namespace, having=having))

    return later()


def _decoded(objects: Iterable[CachedObject], having: bytes) -> Objects:
    return [splice.decode_item(obj.item) for obj in objects if having in obj.item]
