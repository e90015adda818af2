"""Makes and keeps the API services of what this server serves itself.

Those of built-in versions are made, and put right, once at the start (``automanaged: onstart``).
Those of custom resources (``automanaged: "true"``) come and go with their definitions, and are put
right whenever they are edited or deleted. An object without that label is its author's and stays
as it is. Several servers may do so on one store: who comes second finds the work done.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

import structlog

from proreus.aio.clock import Clock
from proreus.aio.supervised_part import Worked
from proreus.api.group_version import GroupVersion
from proreus.api.json_types import JsonObject
from proreus.api.status import ApiError, Conflict, NotFound
from proreus.api.wire import splice
from proreus.api.wire.options import DeleteOptions
from proreus.server.aggregation.api_service import (
    ALWAYS,
    AT_START,
    MANAGED,
    REGISTRATION,
    ApiService,
    local_object,
    service_name,
)
from proreus.server.discovery.priorities import CUSTOM, REGISTRATION_GROUP, own_priority
from proreus.server.key_queue import KeyQueue, KeyQueues
from proreus.server.registry.collections import Collections
from proreus.server.registry.server_objects import ObjectSet, ServerObject, ensure_object
from proreus.server.registry.verbs.delete import Delete
from proreus.server.registry.write import Write
from proreus.server.storage.interface import StorageError
from proreus.server.watch_cache.cache_follower import CacheFollower
from proreus.server.watch_cache.object import CachedObject

_log = structlog.get_logger(__name__)
_RETRY_S = 5.0
_DEFINITIONS = ("apiextensions.k8s.io", "v1", "customresourcedefinitions")
_UNREADABLE = "definition is unreadable and has no API service"


class LocalApiServices:
    """``built_in`` is made before the caches are filled, ``run`` is beside requests."""

    def __init__(
        self,
        collections: Collections,
        built_in: Iterable[GroupVersion],
        clock: Clock,
        queues: KeyQueues,
    ) -> None:
        self._collections = collections
        self._services = collections.named(*REGISTRATION)
        self._built_in = frozenset(gv for gv in built_in if gv.group != REGISTRATION_GROUP)
        self._clock = clock
        self._versions: dict[str, frozenset[GroupVersion]] = {}  # served, by their definition
        self._served: Counter[GroupVersion] = Counter()
        self._known: dict[str, ApiService] = {}
        self._changed: KeyQueue[GroupVersion] = queues.named("autoregister")
        collections.named(*_DEFINITIONS).cache.follow(
            CacheFollower(self._forget_all, self._defined, self._undefined, _UNREADABLE)
        )

    def built_in(self) -> ObjectSet:
        wanted = (
            ServerObject.of("apiservices", local_object(one, own_priority(one), AT_START))
            for one in self._built_in
        )
        return ObjectSet(tuple(wanted), reconciled)

    def note(self, service: ApiService) -> None:
        """To be called when an API service was written."""
        self._known[service.name] = service
        self._note(service.group_version)

    def note_removed(self, service: ApiService) -> None:
        self._known.pop(service.name, None)
        self._note(service.group_version)

    async def run(self, worked: Worked) -> None:
        """For ever."""
        while True:
            worked()
            await self._changed.wait_any()
            changed = self._changed.take()
            try:
                for group_version in changed:
                    with self._changed.working():
                        await self._keep(group_version)
            except (ApiError, StorageError) as why:
                _log.warning("API services of custom resources are not up to date", error=str(why))
                await self._clock.sleep(_RETRY_S)
                for group_version in changed:
                    self._changed.retry(group_version)

    # From the watch cache of definitions

    def _defined(self, found: CachedObject) -> None:
        spec = splice.decode_item(found.item)["spec"]
        served = frozenset(
            GroupVersion(spec["group"], version["name"])
            for version in spec["versions"]
            if version.get("served")
        )
        self._replace(found.name, served)

    def _undefined(self, found: CachedObject) -> None:
        self._replace(found.name, frozenset())

    def _forget_all(self) -> None:
        for name in list(self._versions):
            self._replace(name, frozenset())

    def _replace(self, name: str, served: frozenset[GroupVersion]) -> None:
        before = self._versions.pop(name, frozenset())
        if served:
            self._versions[name] = served
        self._served.subtract(before)
        self._served.update(served)
        for group_version in before | served:
            if not self._served[group_version]:
                del self._served[group_version]
            self._note(group_version)

    def _note(self, group_version: GroupVersion) -> None:
        if group_version not in self._built_in:
            self._changed.add(group_version)

    # Writing

    async def _keep(self, group_version: GroupVersion) -> None:
        known = self._known.get(service_name(group_version))
        if group_version in self._served:
            if known is None or is_wrong(known):
                await self._ensure(group_version)
        elif known is not None and known.managed == ALWAYS:
            try:
                await Delete(self._write(known.name), DeleteOptions()).commit()
            except (NotFound, Conflict):
                return  # another server was first

    async def _ensure(self, group_version: GroupVersion) -> None:
        expected = ServerObject.of("apiservices", local_object(group_version, CUSTOM, ALWAYS))
        await ensure_object(self._collections, expected, self._clock.now(), reconciled)

    def _write(self, name: str) -> Write:
        return Write.of_server(self._services, "", name, self._clock.now())

    def __repr__(self) -> str:
        return f"<LocalApiServices: {len(self._built_in)}, {len(self._served)} of definitions>"


def is_wrong(service: ApiService) -> bool:
    """Whether the object of a custom resource is not what it should be."""
    return service.managed == ALWAYS and (service.priority != CUSTOM or service.backend is not None)


def reconciled(existing: JsonObject, expected: JsonObject) -> JsonObject | None:
    """What is written in place of the existing object; None: nothing."""
    metadata, label = existing["metadata"], expected["metadata"]["labels"]
    labels = metadata.get("labels") or {}
    if labels.get(MANAGED) not in (AT_START, ALWAYS):
        return None
    wanted = {
        **existing,
        "metadata": {**metadata, "labels": {**labels, **label}},
        "spec": expected["spec"],
    }
    return None if wanted == existing else wanted
