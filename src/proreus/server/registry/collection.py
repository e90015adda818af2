"""One served resource and where its objects are: its store, its watch cache, its type.

Everything the verbs need to know about a kind comes through here, so that a verb is written once.
A resource served in another version than it is stored in shares store and cache with its sibling
and converts on the way in and out; for all others conversion costs nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from proreus.api.group_version import GroupVersionKind
from proreus.api.patch.ownership import Endpoint
from proreus.api.status import BadRequest
from proreus.api.typed import TypeNode
from proreus.api.wire import json, splice
from proreus.server.registry.metadata_rules import path_name_violation
from proreus.server.registry.resource import Resource
from proreus.server.schema.rules import JsonObject
from proreus.server.storage.interface import StoredValue
from proreus.server.storage.resource_store import ResourceStore
from proreus.server.watch_cache.cache import WatchCache
from proreus.server.watch_cache.object import CachedObject

Convert = Callable[[JsonObject, GroupVersionKind], JsonObject]
_NOTHING: Mapping[str, str] = {}


@dataclass(slots=True)
class Collection:
    """``node`` is the type of the served version, None if nothing is known about it."""

    resource: Resource
    store: ResourceStore
    cache: WatchCache
    find_node: Callable[[GroupVersionKind], TypeNode | None]
    convert: Convert
    endpoints: dict[str, Endpoint] = field(default_factory=dict)  # by subresource, kept here
    _node: TypeNode | None = None

    @property
    def node(self) -> TypeNode | None:
        """Built on first use: a server that only reads never loads the schemas."""
        if self._node is None:
            self._node = self.find_node(self.resource.gvk)
        return self._node

    def node_of(self, gvk: GroupVersionKind) -> TypeNode | None:
        """The type of what an endpoint of this resource takes: its own, or Scale."""
        return self.node if gvk == self.resource.gvk else self.find_node(gvk)

    @property
    def is_converted(self) -> bool:
        """By ``convert``."""
        return self.resource.is_converted

    def key(self, namespace: str, name: str) -> str:
        """Raises BadRequest for a name that cannot be one."""
        if not name:
            raise BadRequest("Name parameter required.")
        if why := path_name_violation(name):
            raise BadRequest(f'Name parameter invalid: "{name}": {why}')
        if not self.resource.namespaced:
            return name
        if not namespace:
            raise BadRequest("Namespace parameter required.")
        return f"{namespace}/{name}"

    def decode(self, stored: StoredValue) -> JsonObject:
        """The object in its stored version, with kind, apiVersion and resourceVersion.

        One that a webhook converts comes as it was written, in whichever version that was.
        """
        resource = self.resource
        version, text = splice.split_version(stored.value)
        value: JsonObject = json.decode(text)
        value["metadata"]["resourceVersion"] = str(stored.revision)
        gvk = resource.stored_gvk
        if resource.versions is not None:
            api_version = resource.versions.written_in(version)
            return {"kind": gvk.kind, "apiVersion": api_version, **value}
        obj = {"kind": gvk.kind, "apiVersion": gvk.api_version, **value}
        return self.convert(obj, gvk) if stored.revision <= resource.refresh_before else obj

    async def load(self, stored: StoredValue) -> JsonObject:
        """The object to be changed: as ``decode``, or converted by its webhook."""
        versions = self.resource.versions
        if versions is None:
            return self.decode(stored)
        found = cached_copy(stored.key, stored.value, stored.revision)
        gvk = self.resource.gvk
        (shown,) = await versions.served((found,))
        return {"kind": gvk.kind, "apiVersion": gvk.api_version, **splice.decode_item(shown.item)}

    async def to_bytes(self, obj: JsonObject) -> bytes:
        """What storage keeps of a changed object."""
        if not self.resource.custom:
            return splice.stored_from_object(obj)
        if self.resource.versions is not None:
            obj = await self.resource.versions.to_stored(obj)
        return self.as_written(obj)

    def as_written(self, obj: JsonObject) -> bytes:
        """Stored bytes of an object in the version it is in; custom ones say which that is."""
        stored = splice.stored_from_object(obj)
        if not self.resource.custom:
            return stored
        return splice.with_version(stored, obj["apiVersion"].rpartition("/")[2])

    def is_written_anew(self, stored: StoredValue) -> bool:
        """Whether writing the same object again changes its bytes: they are in a past version."""
        if not self.resource.custom:
            return False
        return splice.split_version(stored.value)[0] != self.resource.stored_version

    def at_hand(self, key: str) -> StoredValue | None:
        """The newest state of an object, if it is known without asking storage for it."""
        cached = self.cache.peek(key)
        if cached is None or not self.store.is_newest(key, cached.revision):
            return None
        value = splice.stored_from_item(cached.item)
        if cached.version:
            value = splice.with_version(value, cached.version)
        return StoredValue(key, value, cached.revision)

    def to_served(self, obj: JsonObject) -> JsonObject:
        return self.convert(obj, self.resource.gvk) if self.resource.is_converted else obj

    def to_stored(self, obj: JsonObject) -> JsonObject:
        return self.convert(obj, self.resource.stored_gvk) if self.resource.is_converted else obj


def cached_copy(key: str, stored: bytes, revision: int | None) -> CachedObject:
    """What a view shows of an object that did not come from the cache."""
    namespace, _, name = key.rpartition("/")
    version, value = splice.split_version(stored)
    item = value[1:] if revision is None else splice.item_from_stored(value, revision)
    return CachedObject(key, namespace, name, revision or 0, item, _NOTHING, _NOTHING, version)
