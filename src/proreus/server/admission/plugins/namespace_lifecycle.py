"""Refuses objects in namespaces that do not exist or are terminating (server.md §6.1)."""

from __future__ import annotations

from collections.abc import Awaitable, Mapping
from typing import Any

from proreus.aio.clock import Clock
from proreus.api.group_version import GroupResource
from proreus.api.status import Forbidden, NotFound
from proreus.api.wire import json, splice
from proreus.server.registry.admission import CREATE, DELETE, Attributes
from proreus.server.registry.collection import Collection
from proreus.server.storage.interface import InvalidKey

_NAMESPACES = GroupResource("", "namespaces")
_IMMORTAL = frozenset({"default", "kube-system", "kube-public"})
_PATIENCE_S = 0.05
# Reviews ask about namespaces; they do not put anything into them.
_ASKING = frozenset({"localsubjectaccessreviews"})


class NamespaceLifecycle:
    def __init__(self, namespaces: Collection, clock: Clock) -> None:
        self._namespaces = namespaces
        self._clock = clock

    def admit(self, attributes: Attributes) -> Awaitable[None] | None:
        if attributes.resource.plural == "namespaces" and not attributes.resource.group:
            self._protect_immortal(attributes)
            return None
        if attributes.operation != CREATE or not attributes.resource.namespaced:
            return None
        if attributes.resource.plural in _ASKING:
            return None
        if not attributes.namespace:
            return None  # as /namespaces//pods has it; validation asks for one
        cached = self._namespaces.cache.peek(attributes.namespace)
        if cached is None:
            return self._admit_unknown(attributes)
        # Decoding a whole namespace per create would cost more than the create itself.
        if b'"Terminating"' in cached.item or b"deletionTimestamp" in cached.item:
            _refuse_terminating(attributes, splice.decode_item(cached.item))
        return None

    async def _admit_unknown(self, attributes: Attributes) -> None:
        namespace = await self._find(attributes.namespace)
        if namespace is None:
            raise NotFound.of(_NAMESPACES, attributes.namespace)
        _refuse_terminating(attributes, namespace)

    def _protect_immortal(self, attributes: Attributes) -> None:
        if attributes.operation == DELETE and attributes.name in _IMMORTAL:
            raise Forbidden.of(_NAMESPACES, attributes.name, "this namespace may not be deleted")

    async def _find(self, name: str) -> Mapping[str, Any] | None:
        """What the cache does not know yet, storage may."""
        try:
            stored = await self._namespaces.store.get(name)
            if stored is None:
                await self._clock.sleep(_PATIENCE_S)
                stored = await self._namespaces.store.get(name)
        except InvalidKey:
            return None  # no object can be called that
        if stored is None:
            return None
        found: dict[str, Any] = json.decode(stored.value)
        return found


def _refuse_terminating(attributes: Attributes, namespace: Mapping[str, Any]) -> None:
    phase = (namespace.get("status") or {}).get("phase")
    if phase == "Terminating" or namespace["metadata"].get("deletionTimestamp"):
        raise _terminating(attributes)


def _terminating(attributes: Attributes) -> Forbidden:
    name = attributes.namespace
    message = f"namespace {name} is being terminated"
    return Forbidden.of(
        attributes.resource.group_resource,
        attributes.name or "Unknown",
        f"unable to create new content in namespace {name} because it is being terminated",
        causes=[
            {"reason": "NamespaceTerminating", "message": message, "field": "metadata.namespace"}
        ],
    )
