"""The parameters of a binding: objects that its policy's expressions see as ``params``.

They are read from the watch cache of their kind, which every served kind has; each is decoded once
and kept until another revision of it is asked for.
"""

from __future__ import annotations

from proreus.api.group_version import GroupVersionKind
from proreus.api.json_types import JsonObject
from proreus.api.selectors.errors import SelectorError
from proreus.api.wire import splice
from proreus.server.admission.policies.definition import Misconfigured, ParamRef
from proreus.server.registry.catalog import Catalog
from proreus.server.registry.collection import Collection
from proreus.server.registry.collections import Collections
from proreus.server.watch_cache.object import CachedObject
from proreus.server.watch_cache.query import AnyState, ListQuery, Selection

_REMEMBERED_MAX = 256
_MISSING = "no params found for policy binding with `Deny` parameterNotFoundAction"
_CLUSTER_WIDE = (
    "cannot use namespaced paramRef in policy binding that matches cluster-scoped resources"
)
_NO_NAMESPACE = "paramRef.namespace must not be provided for a cluster-scoped `paramKind`"


class PolicyParams:
    def __init__(self, catalog: Catalog, collections: Collections) -> None:
        self._catalog = catalog
        self._collections = collections
        # By kind and key, the one used last at the end.
        self._decoded: dict[tuple[GroupVersionKind, str], tuple[int, JsonObject]] = {}

    def check_kind(self, kind: GroupVersionKind) -> None:
        """Raises Misconfigured if nothing of this kind is served."""
        resource = self._catalog.of_kind(kind)
        if resource is None or resource.unstored is not None:
            said = f"{kind.group}/{kind.version}, Kind={kind.kind}"
            why = f"failed to find resource referenced by paramKind: '{said}'"
            raise Misconfigured(why)

    async def find(
        self, kind: GroupVersionKind, reference: ParamRef, namespace: str
    ) -> list[JsonObject]:
        """``namespace``: of the request. Raises Misconfigured."""
        resource = self._catalog.of_kind(kind)
        if resource is None:
            return []  # it went since it was looked for
        collection = self._collections.get(resource)
        where = ""
        if resource.namespaced:
            where = reference.namespace or namespace
            if not where:
                raise Misconfigured(_CLUSTER_WIDE)
        elif reference.namespace:
            raise Misconfigured(_NO_NAMESPACE)
        if reference.name:
            found = await self._named(collection, where, reference.name)
        else:
            found = await self._selected(collection, where, reference)
        if not found and reference.denies_missing:
            raise Misconfigured(_MISSING)
        return [await self._object(collection, one) for one in found]

    async def _named(self, collection: Collection, namespace: str, name: str) -> list[CachedObject]:
        key = f"{namespace}/{name}" if namespace else name
        cached = collection.cache.peek(key)
        if cached is None:  # the cache may lag behind
            stored = await collection.store.get(key)
            cached = collection.cache.read(stored) if stored is not None else None
        return [] if cached is None else [cached]

    async def _selected(
        self, collection: Collection, namespace: str, reference: ParamRef
    ) -> list[CachedObject]:
        selector = reference.selector
        if selector is None:
            raise Misconfigured("one of name or selector must be provided")
        if isinstance(selector, SelectorError):
            raise Misconfigured(str(selector))
        objects = collection.cache.peek_all(namespace)
        if objects is None:
            query = ListQuery(selection=Selection(namespace=namespace), state=AnyState())
            objects = list((await collection.cache.list(query)).objects)
        return [one for one in objects if selector.matches(one.labels)]

    async def _object(self, collection: Collection, cached: CachedObject) -> JsonObject:
        kind = collection.resource.gvk
        known = self._decoded.pop((kind, cached.key), None)
        if known is None or known[0] != cached.revision:
            known = cached.revision, await _decoded(collection, cached)
        self._decoded[kind, cached.key] = known
        if len(self._decoded) > _REMEMBERED_MAX:
            del self._decoded[next(iter(self._decoded))]
        return known[1]


async def _decoded(collection: Collection, cached: CachedObject) -> JsonObject:
    resource = collection.resource
    if (versions := resource.versions) is not None:
        served = await versions.served(cached)
        own = splice.decode_item(served.item)
        return {"kind": resource.kind, "apiVersion": resource.api_version, **own}
    stored = resource.stored_gvk
    own = splice.decode_item(cached.item)
    version = cached.version or stored.version
    written = f"{stored.group}/{version}" if stored.group else version
    obj = {"kind": stored.kind, "apiVersion": written, **own}
    return collection.convert(obj, resource.gvk)
