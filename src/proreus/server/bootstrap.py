"""Creates the objects every cluster has: system namespaces, priority classes, its own service.

Several servers may start on one store at the same time, so finding an object there is success.
"""

from __future__ import annotations

from proreus.api.group_version import GroupVersion
from proreus.api.json_types import JsonObject
from proreus.api.status import AlreadyExists
from proreus.api.values.timestamp import format_time
from proreus.server.allocation.service_addresses import SERVICE_NETWORK
from proreus.server.http.services import Services
from proreus.server.kinds.parts.pod_template.scheduling import SYSTEM_PRIORITIES
from proreus.server.registry.verbs.create import create
from proreus.server.registry.verbs.update import update
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
    for name in _NAMESPACES:
        await _ensure(services, "v1", "Namespace", {"metadata": {"name": name}})
    await _ensure(services, "v1", "Service", _kubernetes())
    await _ensure(services, "networking.k8s.io/v1", "ServiceCIDR", _service_range(services))
    await _ensure(services, "networking.k8s.io/v1", "IPAddress", _service_address())
    await _ensure(services, "v1", "ConfigMap", _token_tracking(services.clock.now()))
    for name, value in SYSTEM_PRIORITIES.items():
        await _ensure(services, "scheduling.k8s.io/v1", "PriorityClass", _class(name, value))


async def _ensure(services: Services, api_version: str, kind: str, obj: JsonObject) -> None:
    """Its status, too, if it has one."""
    resource = services.catalog.of_kind(GroupVersion.parse(api_version).kind(kind))
    assert resource is not None
    collection, metadata = services.collection(resource), obj["metadata"]
    namespace, name = metadata.get("namespace", ""), metadata["name"]
    if await collection.store.get(collection.key(namespace, name)) is not None:
        return
    write = Write.of_server(collection, namespace, name, services.clock.now())
    whole = {"kind": kind, "apiVersion": api_version, **obj}
    try:
        await create(write, {**whole})
        if "status" in obj:
            write.subresource = "status"
            await update(write, {**whole})
    except AlreadyExists:
        return


def _service_range(services: Services) -> JsonObject:
    ready = {
        "type": "Ready",
        "status": "True",
        "reason": "",
        "message": "Kubernetes default Service CIDR is ready",
        "lastTransitionTime": format_time(services.clock.now()),
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


def _token_tracking(now: float) -> JsonObject:
    """Since when the use of tokens in Secrets is recorded."""
    name = "kube-apiserver-legacy-service-account-token-tracking"
    metadata = {"name": name, "namespace": "kube-system"}
    return {"metadata": metadata, "data": {"since": format_time(now)[:10]}}


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
