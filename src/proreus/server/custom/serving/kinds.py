"""The served custom kinds: publishes them to and withdraws them from catalog, caches and OpenAPI.

The swap of a changed kind happens without an await: a request sees the old kind or the new one.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import field
from typing import Any

from proreus.api.group_version import GroupVersionKind
from proreus.lazy_dataclass import dataclass
from proreus.server.custom.conversion.conversions import Conversions
from proreus.server.custom.conversion.webhooks import Webhooks
from proreus.server.custom.serving.kind import CustomKind, build, fingerprint
from proreus.server.custom.serving.openapi import PublishedSchemas
from proreus.server.offload import Lane
from proreus.server.registry.catalog import Catalog
from proreus.server.registry.collection import Collection
from proreus.server.registry.collections import Collections
from proreus.server.registry.kinds import KnownKinds
from proreus.server.resource import Resource


@dataclass(slots=True, repr=False)
class CustomKinds:
    """``prepare``, ``publish`` and ``withdraw``, by definition."""

    _catalog: Catalog
    _collections: Collections
    _known: KnownKinds
    _conversions: Conversions
    _schemas: PublishedSchemas
    _forget_views: Callable[[Resource], None]
    _webhooks: Webhooks
    _lane: Lane
    _served: dict[str, CustomKind] = field(default_factory=dict)

    def is_current(self, definition: Mapping[str, Any]) -> bool:
        found = self._served.get(definition["metadata"]["name"])
        return found is not None and found.fingerprint == fingerprint(definition)

    def prepare(self, definition: Mapping[str, Any], revision: int) -> CustomKind:
        """Make the kind and begin to fill its cache; it is not served before ``publish``."""
        conversion = definition["spec"].get("conversion") or {}
        kind = build(
            definition,
            self._conversions.convert,
            revision,
            webhook=self._webhooks.of(definition["metadata"]["name"], conversion),
            start=self._webhooks.start,
            lane=self._lane,
        )
        before = self._served.get(kind.name)
        if before is not None and before.selectable != kind.selectable:
            # The cache reads other fields from now on, so it is another cache.
            for resource in before.resources:
                self._collections.forget(resource)
        for resource in kind.resources:
            self._collections.serve(resource)
        return kind

    async def wait_ready(self, kind: CustomKind) -> None:
        """Until its objects have been listed; storage decides how long that takes."""
        for resource in kind.resources:
            await self._collections.get(resource).cache.wait_ready()

    def publish(self, kind: CustomKind) -> None:
        before = self._served.get(kind.name)
        self._conversions.put(kind.kind, kind.schemas)
        for resource in kind.resources:
            self._known.add(resource.gvk, kind.nodes[resource.gvk])
            schema = kind.schemas[resource.version]
            self._schemas.put(resource, schema)
            self._collections.serve(resource)
            self._catalog.add(resource)
        self._served[kind.name] = kind
        if before is not None:
            self._end(before, kind)

    def withdraw(self, name: str) -> None:
        kind = self._served.pop(name, None)
        if kind is None:
            return
        self._conversions.remove(kind.kind)
        self._webhooks.forget(name)
        for resource in kind.resources:
            self._drop(resource)

    def collection(self, name: str) -> Collection | None:
        """Where the instances of a definition are; None if it is not served."""
        kind = self._served.get(name)
        if kind is None or not kind.resources:
            return None
        return self._collections.get(kind.resources[0])

    def _end(self, before: CustomKind, now: CustomKind) -> None:
        """Watches of the old kind end without an error (server.md §9.4); old versions go."""
        present = {resource.gvr for resource in now.resources}
        for resource in before.resources:
            self._forget_views(resource)
            if resource.gvr not in present:
                self._drop(resource)
        for resource in now.resources[:1]:
            for subscriber in self._collections.get(resource).cache.subscribers:
                subscriber.end("definition changed")

    def _drop(self, resource: Resource) -> None:
        gvk: GroupVersionKind = resource.gvk
        self._catalog.remove(resource.gvr)
        self._collections.forget(resource)
        self._known.remove(gvk)
        self._schemas.remove(gvk, resource.names.list_kind)
        self._forget_views(resource)

    def __repr__(self) -> str:
        return f"<CustomKinds {len(self._served)} served>"
