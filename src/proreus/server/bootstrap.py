"""Creates the objects every cluster has: system namespaces, priority classes, its own service.

Several servers may start on one store at the same time, so finding an object there is success.
"""

from __future__ import annotations

from contextlib import suppress
from functools import cache

from proreus.api.json_types import JsonObject
from proreus.api.status import AlreadyExists
from proreus.api.values.timestamp import format_time
from proreus.server.allocation.service_addresses import SERVICE_NETWORK
from proreus.server.http.services import Services
from proreus.server.kinds.parts.pod_template.scheduling import SYSTEM_PRIORITIES
from proreus.server.registry.server_objects import CREATED, ServerObject, ensure_objects, keep
from proreus.server.registry.verbs.create import create
from proreus.server.registry.write import Write

_NAMESPACES = ("kube-system", "kube-public", "kube-node-lease", "default")
_SERVICE_IP = "10.0.0.1"
_DESCRIPTIONS = {
    "system-node-critical": (
        "Used for system critical pods that must not be moved from their current node."
    ),
    "system-cluster-critical": (
        "Used for system critical pods that must run in the cluster, but can be moved to another "
        "node if necessary."
    ),
}


async def make_system_objects(services: Services) -> None:
    collections, now = services.collections, services.clock.now()
    await ensure_objects(collections, (*_system_objects(), _token_tracking(now)), now, keep)
    service = collections.named("", "v1", "services")
    write = Write.of_server(service, "default", "kubernetes", now)
    if await service.store.get(service.key("default", "kubernetes")) is None:
        with suppress(AlreadyExists):
            await create(write, {"kind": "Service", "apiVersion": "v1", **_kubernetes()})


@cache
def _system_objects() -> tuple[ServerObject, ...]:
    return (
        *(_object("v1", "Namespace", {"metadata": {"name": name}}) for name in _NAMESPACES),
        _object("networking.k8s.io/v1", "ServiceCIDR", _service_range()),
        _object("networking.k8s.io/v1", "IPAddress", _service_address()),
        *(
            _object("scheduling.k8s.io/v1", "PriorityClass", _class(name, value))
            for name, value in SYSTEM_PRIORITIES.items()
        ),
    )


def _object(api_version: str, kind: str, obj: JsonObject) -> ServerObject:
    plural = f"{kind.lower()}{'es' if kind.endswith('s') else 's'}"
    return ServerObject.of(plural, {"kind": kind, "apiVersion": api_version, **obj})


def _service_range() -> JsonObject:
    ready = {
        "type": "Ready",
        "status": "True",
        "reason": "",
        "message": "Kubernetes default Service CIDR is ready",
        "lastTransitionTime": CREATED,
    }
    return {
        "metadata": {"name": "kubernetes"},
        "spec": {"cidrs": [str(SERVICE_NETWORK)]},
        "status": {"conditions": [ready]},
    }


def _service_address() -> JsonObject:
    labels = {
        "ipaddress.kubernetes.io/ip-family": "IPv4",
        "ipaddress.kubernetes.io/managed-by": "ipallocator.k8s.io",
    }
    parent = {"resource": "services", "namespace": "default", "name": "kubernetes"}
    return {
        "metadata": {"name": _SERVICE_IP, "labels": labels},
        "spec": {"parentRef": parent},
    }


def _token_tracking(now: float) -> ServerObject:
    """Since when the use of tokens in Secrets is recorded."""
    name = "kube-apiserver-legacy-service-account-token-tracking"
    metadata = {"name": name, "namespace": "kube-system"}
    since = {"since": format_time(now)[:10]}
    return _object("v1", "ConfigMap", {"metadata": metadata, "data": since})


def _kubernetes() -> JsonObject:
    labels = {"component": "apiserver", "provider": "kubernetes"}
    return {
        "metadata": {"name": "kubernetes", "namespace": "default", "labels": labels},
        "spec": {
            "clusterIP": _SERVICE_IP,
            "clusterIPs": [_SERVICE_IP],
            "ipFamilies": ["IPv4"],
            "ipFamilyPolicy": "SingleStack",
            "ports": [{"name": "https", "port": 443, "protocol": "TCP", "targetPort": 6443}],
            "sessionAffinity": "None",
            "type": "ClusterIP",
        },
    }


def _class(name: str, value: int) -> JsonObject:
    return {
        "metadata": {"name": name},
        "value": value,
        "description": _DESCRIPTIONS[name],
        "preemptionPolicy": "PreemptLowerPriority",
    }
