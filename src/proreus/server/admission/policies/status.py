"""Keeps the status of validating policies: what type checking found in the present generation.

In Kubernetes a controller of the cluster does this, not the API server: ``proreus up`` has it done.
Several servers on one store come to the same end.
"""

from __future__ import annotations

from functools import partial

import structlog

from proreus.aio.clock import Clock
from proreus.api.group_version import GroupVersionKind, GroupVersionResource
from proreus.api.json_types import JsonObject
from proreus.api.status import ApiError
from proreus.api.wire import splice
from proreus.server.admission.policies.source import GROUP
from proreus.server.key_queue import KeyQueue, KeyQueues
from proreus.server.offload import Lane
from proreus.server.registry.catalog import Catalog
from proreus.server.registry.collections import Collections
from proreus.server.registry.kinds import KnownKinds
from proreus.server.storage.interface import KeyNotFound, StorageError, StoredValue
from proreus.server.watch_cache.cache_follower import CacheFollower
from proreus.server.watch_cache.object import CachedObject

_log = structlog.get_logger(__name__)
_AGAIN_S = 1.0
_UNREADABLE = "admission policy is unreadable and is not checked"


class PolicyStatus:
    """``run`` beside the server. Follows its policies from the start."""

    def __init__(
        self,
        collections: Collections,
        catalog: Catalog,
        kinds: KnownKinds,
        lane: Lane,
        clock: Clock,
        queues: KeyQueues,
    ) -> None:
        policies = self._policies = collections.named(GROUP, "v1", "validatingadmissionpolicies")
        self._catalog = catalog
        self._kinds = kinds
        self._lane = lane
        self._clock = clock
        self._names: KeyQueue[str] = queues.named("validatingadmissionpolicy-status")
        policies.cache.follow(
            CacheFollower(self._nothing, self._add, self._nothing_of, _UNREADABLE)
        )

    async def run(self) -> None:
        """For ever."""
        while True:
            await self._names.wait_any()
            for name in self._names.take():
                try:
                    with self._names.working():
                        await self._check(name)
                except (ApiError, StorageError):
                    await self._clock.sleep(_AGAIN_S)
                    self._names.retry(name)
                except Exception:  # a policy that nobody foresaw must not end the checks of others
                    _log.exception("admission policy could not be checked", policy=name)

    async def _check(self, name: str) -> None:
        found = self._policies.cache.peek(name)
        if found is None:
            return
        obj = splice.decode_item(found.item)
        generation = obj["metadata"].get("generation")
        if (obj.get("status") or {}).get("observedGeneration") == generation:
            return
        from proreus.server.admission.policies.type_checking import KnownTypes, expression_warnings

        types = KnownTypes(self._kind_of, self._kinds.node)
        warnings = await self._lane.run(partial(expression_warnings, obj["spec"], types))
        checked: JsonObject = {"expressionWarnings": warnings} if warnings else {}

        async def update(current: StoredValue | None) -> bytes:
            assert current is not None, "a missing key is an error before"
            present = self._policies.decode(current)
            if present["metadata"].get("generation") == generation:
                status = present.get("status") or {}
                seen = {"observedGeneration": generation, "typeChecking": checked}
                present["status"] = {**status, **seen}
            return splice.stored_from_object(present)

        try:
            await self._policies.store.guaranteed_update(name, update)
        except KeyNotFound:
            return

    def _kind_of(self, resource: GroupVersionResource) -> GroupVersionKind | None:
        found = self._catalog.lookup(resource.group, resource.version, resource.resource)
        return None if found is None else found.gvk

    def _add(self, found: CachedObject) -> None:
        self._names.add(found.name)

    def _nothing(self) -> None:
        return None

    def _nothing_of(self, found: CachedObject) -> None:
        return None
