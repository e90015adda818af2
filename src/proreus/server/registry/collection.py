"""One served resource and where its objects are: its store, its watch cache, its type.

Everything the verbs need to know about a kind comes through here, so that a verb is written once.
A resource served in another version than it is stored in shares store and cache with its sibling
and converts on the way in and out; for all others conversion costs nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import msgspec

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
from proreus.server.watch_cache.object import Attributes, CachedObject

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
        return self.resource.stored_gvk != self.resource.gvk

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
        """The object in its stored version, with kind, apiVersion and resourceVersion."""
        value: JsonObject = json.decode(stored.value)
        value["metadata"]["resourceVersion"] = str(stored.revision)
        gvk = self.resource.stored_gvk
        obj = {"kind": gvk.kind, "apiVersion": gvk.api_version, **value}
        return self.convert(obj, gvk) if stored.revision <= self.resource.refresh_before else obj

    def at_hand(self, key: str) -> StoredValue | None:
        """The newest state of an object, if it is known without asking storage for it."""
        cached = self.cache.peek(key)
        if cached is None or not self.store.is_newest(key, cached.revision):
            return None
        return StoredValue(key, splice.stored_from_item(cached.item), cached.revision)

    def to_served(self, obj: JsonObject) -> JsonObject:
        return self.convert(obj, self.resource.gvk) if self.is_converted else obj

    def to_stored(self, obj: JsonObject) -> JsonObject:
        return self.convert(obj, self.resource.stored_gvk) if self.is_converted else obj


def cached_copy(key: str, stored: bytes, revision: int | None) -> CachedObject:
    """What a view shows of an object that did not come from the cache."""
    namespace, _, name = key.rpartition("/")
    item = stored if revision is None else splice.item_from_stored(stored, revision)
    return CachedObject(key, namespace, name, revision or 0, item, _NOTHING, _NOTHING)


class _Labels(msgspec.Struct, gc=False):
    labels: dict[str, str] | None = None


class _Header(msgspec.Struct, gc=False):
    metadata: _Labels


_header = msgspec.json.Decoder(_Header)


def attribute_reader(resource: Resource) -> Callable[[bytes], Attributes]:
    """How the cache learns labels and fields of an item.

    Kinds without selectable fields of their own are not decoded: only their labels are looked at.
    """
    read = resource.selectable.read
    if not resource.selectable.names:
        return lambda item: Attributes(_header.decode(item).metadata.labels or {}, _NOTHING)

    def attributes(item: bytes) -> Attributes:
        obj: dict[str, Any] = json.decode(item)
        return Attributes(obj["metadata"].get("labels") or {}, read(obj))

    return attributes
