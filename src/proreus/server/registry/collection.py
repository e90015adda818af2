"""One served resource and where its objects are: its store, its watch cache, its type.

Everything the verbs need to know about a kind comes through here, so that a verb is written once.
A resource served in another version than it is stored in shares store and cache with its sibling
and converts on the way in and out; for all others conversion costs nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import field

from proreus.api.group_version import GroupVersionKind
from proreus.api.json_types import JsonObject
from proreus.api.patch.ownership import Endpoint
from proreus.api.status import BadRequest, InternalError
from proreus.api.typed import TypeNode
from proreus.api.wire import json, splice
from proreus.lazy_dataclass import dataclass
from proreus.server.registry.admission import Allocate, Release
from proreus.server.registry.metadata_rules import NonOwners, path_name_violation
from proreus.server.resource import Resource
from proreus.server.resource.conversion import Convert
from proreus.server.storage.interface import StoredValue
from proreus.server.storage.resource_store import ResourceStore
from proreus.server.watch_cache.cache import WatchCache
from proreus.server.watch_cache.object import EncodedObject


class UnreadableObject(InternalError):
    """What is stored is no object: another program wrote it, or the disk damaged it."""


@dataclass(slots=True)
class Collection:
    """``node`` is the type of the served version, None if nothing is known about it."""

    resource: Resource
    store: ResourceStore
    cache: WatchCache
    find_node: Callable[[GroupVersionKind], TypeNode | None]
    convert: Convert
    non_owners: NonOwners
    allocate: Allocate | None = None  # for kinds with addresses
    release: Release | None = None
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

        One that a webhook converts comes as it was written, in whichever version that was. Raises
        Unreadable.
        """
        resource = self.resource
        version, text = splice.split_version(stored.value)
        try:
            value: JsonObject = json.decode(text)
            value["metadata"]["resourceVersion"] = str(stored.revision)
        except (ValueError, TypeError, KeyError) as why:
            raise UnreadableObject.of(
                f"what is stored of {stored.key} is damaged; it can only be deleted"
            ) from why
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
        found = EncodedObject.of_stored(stored.key, stored.value, stored.revision)
        gvk = self.resource.gvk
        served = await versions.served(found)
        return {"kind": gvk.kind, "apiVersion": gvk.api_version, **splice.decode_item(served.item)}

    async def served(self, written: StoredValue) -> EncodedObject:
        """What a write left behind, in the version of the request, ready to be rendered."""
        found = EncodedObject.of_stored(written.key, written.value, written.revision)
        versions = self.resource.versions
        return found if versions is None else await versions.served(found, remembers=False)

    async def to_bytes(self, obj: JsonObject) -> bytes:
        """What storage keeps of a changed object."""
        if not self.resource.custom:
            return splice.stored_from_object(obj)
        if self.resource.versions is not None:
            obj = await self.resource.versions.to_stored(obj)
        return self.as_written(obj)

    def as_written(self, obj: JsonObject) -> bytes:
        """Stored bytes of an object in the version it is in; those of custom ones name it."""
        try:
            stored = splice.stored_from_object(obj)
        except json.JSONEncodeError as deep:
            # Managed fields are nested deeper than what they name: more than was decoded.
            raise BadRequest("the object is nested too deep: exceeded max depth") from deep
        if not self.resource.custom:
            return stored
        return splice.with_version(stored, obj["apiVersion"].rpartition("/")[2])

    def is_written_anew(self, stored: StoredValue) -> bool:
        """Whether writing the same object again changes its bytes: they are in a past version."""
        if not self.resource.custom:
            return False
        return splice.split_version(stored.value)[0] != self.resource.stored_gvk.version

    def suggested(self, key: str) -> StoredValue | None:
        """An object as the cache has it, for a write to begin with: ``resource_store`` finds out
        if another server has written since. None: there is none, or a newer one is known."""
        cached = self.cache.peek(key)
        if cached is None or self.store.is_newest(key, cached.revision) is False:
            return None
        if not self.cache.is_readable(cached):
            return None  # what the cache has in its place must not be written back
        value = splice.stored_from_item(cached.item)
        if cached.version:
            value = splice.with_version(value, cached.version)
        return StoredValue(key, value, cached.revision)

    def to_served(self, obj: JsonObject) -> JsonObject:
        return self.convert(obj, self.resource.gvk) if self.resource.is_converted else obj

    def to_stored(self, obj: JsonObject) -> JsonObject:
        return self.convert(obj, self.resource.stored_gvk) if self.resource.is_converted else obj
