"""Objects every cluster has: system namespaces, priority classes, since when tokens are tracked.

Namespaces are kept: one that was deleted is made again within a minute.
"""

from __future__ import annotations

from functools import cache

from proreus.aio.clock import Clock
from proreus.aio.supervised_part import Worked
from proreus.api.json_types import JsonObject
from proreus.api.values.timestamp import format_time
from proreus.server.kinds.parts.pod_template.scheduling import SYSTEM_PRIORITIES
from proreus.server.registry.collections import Collections
from proreus.server.registry.server_objects import ObjectSet, ServerObject, ensure_objects, keep

_NAMESPACES = ("kube-system", "kube-public", "kube-node-lease", "default")
_LOOK_S = 60.0
_DESCRIPTIONS = {
    "system-node-critical": (
        "Used for system critical pods that must not be moved from their current node."
    ),
    "system-cluster-critical": (
        "Used for system critical pods that must run in the cluster, but can be moved to another "
        "node if necessary."
    ),
}


def system_objects(now: float) -> ObjectSet:
    wanted = (*_namespaces(), *_priority_classes(), _token_tracking(now))
    return ObjectSet(wanted, keep)


class SystemNamespaces:
    def __init__(self, collections: Collections, clock: Clock) -> None:
        self._collections = collections
        self._namespaces = collections.named("", "v1", "namespaces").cache
        self._clock = clock

    async def run(self, worked: Worked) -> None:
        """For ever."""
        while True:
            gone = [one for one in _namespaces() if self._namespaces.peek(one.name) is None]
            await ensure_objects(self._collections, gone, self._clock.now(), keep)
            worked()
            await self._clock.sleep(_LOOK_S)


@cache
def _namespaces() -> tuple[ServerObject, ...]:
    return tuple(
        _object("namespaces", "v1", "Namespace", {"metadata": {"name": name}})
        for name in _NAMESPACES
    )


@cache
def _priority_classes() -> tuple[ServerObject, ...]:
    return tuple(
        _object(
            "priorityclasses",
            "scheduling.k8s.io/v1",
            "PriorityClass",
            {
                "metadata": {"name": name},
                "value": value,
                "description": _DESCRIPTIONS[name],
                "preemptionPolicy": "PreemptLowerPriority",
            },
        )
        for name, value in SYSTEM_PRIORITIES.items()
    )


def _token_tracking(now: float) -> ServerObject:
    """Since when the use of tokens in Secrets is recorded."""
    name = "kube-apiserver-legacy-service-account-token-tracking"
    metadata = {"name": name, "namespace": "kube-system"}
    since = {"since": format_time(now)[:10]}
    return _object("configmaps", "v1", "ConfigMap", {"metadata": metadata, "data": since})


def _object(plural: str, api_version: str, kind: str, obj: JsonObject) -> ServerObject:
    return ServerObject.of(plural, {"kind": kind, "apiVersion": api_version, **obj})
