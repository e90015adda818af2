"""A computed document, and the cache that drops it when what is served changes."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Hashable
from typing import Any, TypeVar

from proreus.api.group_version import GroupVersion
from proreus.api.wire import json
from proreus.lazy_dataclass import dataclass
from proreus.server.discovery.api_services import ApiServices
from proreus.server.discovery.ordering import groups_in_order
from proreus.server.discovery.priorities import DiscoveryPriority, own_priority
from proreus.server.registry.catalog import Catalog
from proreus.server.resource import Resource

Value = TypeVar("Value")


@dataclass(frozen=True, slots=True)
class Document:
    """A JSON body and its ETag, quotes included."""

    body: bytes
    etag: str

    @classmethod
    def of(cls, value: Any) -> Document:
        body = json.encode(value)
        return cls(body, quoted(content_hash(body)))

    def decoded(self) -> Any:
        """For those who asked for another encoding."""
        return json.decode(self.body)


def content_hash(*parts: bytes) -> str:
    """The form Kubernetes gives its hashes: SHA-512 in upper-case hex."""
    digest = hashlib.sha512()
    for part in parts:
        digest.update(part)
    return digest.hexdigest().upper()


def quoted(tag: str) -> str:
    return f'"{tag}"'


class CatalogSnapshot:
    """What was served when it was taken, and what was computed from it.

    Documents are built in other threads while kinds come and go, so nothing reads the catalog
    itself; a result belongs to the state it was computed from. ``resources`` are this server's own;
    a version that an API service gives to another server (``remote``) is not.
    """

    __slots__ = ("_priorities", "_values", "generation", "remote", "resources")

    def __init__(self, catalog: Catalog, api_services: ApiServices) -> None:
        self.generation = (catalog.generation, api_services.generation)
        self.remote = dict(api_services.remote)
        self.resources = tuple(r for r in catalog if r.group_version not in self.remote)
        self._priorities = dict(api_services.priorities)
        self._values: dict[Hashable, Any] = {}

    def of(self, group_version: GroupVersion) -> list[Resource]:
        return [r for r in self.resources if r.group_version == group_version]

    def own_groups(self) -> list[tuple[str, list[str]]]:
        """Groups of this server with its versions, in order."""
        served = (resource.group_version for resource in self.resources)
        return groups_in_order(served, self._priority)

    def groups(self, *, by_service: bool = False) -> list[tuple[str, list[str]]]:
        """All groups with all versions, in order."""
        served = [*(resource.group_version for resource in self.resources), *self.remote]
        return groups_in_order(served, self._priority, by_service=by_service)

    def _priority(self, group_version: GroupVersion) -> DiscoveryPriority:
        return self._priorities.get(group_version) or own_priority(group_version)

    def once(self, key: Hashable, compute: Callable[[], Value]) -> Value:
        if key not in self._values:
            self._values[key] = compute()
        found: Value = self._values[key]
        return found

    def latest(self, key: Hashable, made_of: Hashable, compute: Callable[[], Value]) -> Value:
        """As ``once``, but it is computed anew when it is to be made of something else."""
        known = self._values.get(key)
        if known is None or known[0] != made_of:
            known = self._values[key] = (made_of, compute())
        found: Value = known[1]
        return found


class CurrentSnapshot:
    """The present state of what is served, taken anew when it has changed."""

    def __init__(self, catalog: Catalog, api_services: ApiServices | None = None) -> None:
        self._catalog = catalog
        self._api_services = api_services if api_services is not None else ApiServices()
        self._served = CatalogSnapshot(catalog, self._api_services)

    def now(self) -> CatalogSnapshot:
        served = self._served
        if served.generation != (self._catalog.generation, self._api_services.generation):
            served = self._served = CatalogSnapshot(self._catalog, self._api_services)
        return served
