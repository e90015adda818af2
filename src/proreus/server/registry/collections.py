"""The collections of a server: one per served resource, sharing stores and caches by prefix."""

from __future__ import annotations

from dataclasses import field

from proreus.lazy_dataclass import dataclass
from proreus.server.registry.attributes import attribute_reader
from proreus.server.registry.catalog import Catalog
from proreus.server.registry.collection import Collection
from proreus.server.registry.kinds import KnownKinds
from proreus.server.resource import Resource
from proreus.server.resource.conversion import Convert
from proreus.server.storage.resource_stores import ResourceStores
from proreus.server.watch_cache.cache import WatchCache
from proreus.server.watch_cache.caches import WatchCaches


@dataclass(slots=True, eq=False)
class Collections:
    """``serve`` a resource before it is in the catalog, ``forget`` it after it left."""

    stores: ResourceStores
    caches: WatchCaches
    kinds: KnownKinds
    convert: Convert
    _by_prefix: dict[str, WatchCache] = field(init=False, default_factory=dict)
    _users: dict[str, set[str]] = field(init=False, default_factory=dict)
    _collections: dict[tuple[str, str, str], Collection] = field(init=False, default_factory=dict)

    def serve(self, resource: Resource) -> None:
        if resource.unstored is not None:
            return
        cache = self._by_prefix.get(resource.prefix)
        if cache is None:
            cache = self._by_prefix[resource.prefix] = self.caches.add(
                resource.prefix,
                attribute_reader(resource),
                resource.selectable.exact_index,
                cached=resource.persistence.cached,
                resource=resource.group_resource,
            )
        self._users.setdefault(resource.prefix, set()).add(str(resource.gvr))
        self._collections[_key(resource)] = Collection(
            resource=resource,
            store=self.stores.store(resource.store_name),
            cache=cache,
            find_node=self.kinds.node,
            convert=self.convert,
            non_owners=self.kinds.non_owners,
        )

    def serve_all(self, catalog: Catalog) -> None:
        """Stored versions first: their fields are what the shared cache reads."""
        for resource in sorted(catalog, key=lambda r: r.gvk != r.stored_gvk):
            self.serve(resource)

    def forget(self, resource: Resource) -> None:
        self._collections.pop(_key(resource), None)
        users = self._users.get(resource.prefix, set())
        users.discard(str(resource.gvr))
        if not users and self._by_prefix.pop(resource.prefix, None) is not None:
            self.caches.remove(resource.prefix)

    @property
    def is_ready(self) -> bool:
        """Every cache has been filled."""
        return all(cache.is_ready for cache in self._by_prefix.values())

    def stored(self) -> list[Collection]:
        """One per cache, in the version that is stored if that is served."""
        found: dict[WatchCache, Collection] = {}
        for collection in self._collections.values():
            is_stored = collection.resource.gvk == collection.resource.stored_gvk
            if is_stored or collection.cache not in found:
                found[collection.cache] = collection
        return list(found.values())

    def get(self, resource: Resource) -> Collection:
        return self._collections[_key(resource)]

    def count(self, group: str, version: str, plural: str) -> int:
        """Objects at hand; 0 of what is not served."""
        found = self._collections.get((group, version, plural))
        return found.cache.count() if found is not None else 0

    def named(self, group: str, version: str, plural: str) -> Collection:
        return self._collections[group, version, plural]


def _key(resource: Resource) -> tuple[str, str, str]:
    return resource.group, resource.version, resource.plural
