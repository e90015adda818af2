"""What a cluster has before anybody creates anything: its system namespaces and its own service.

Several servers may start on one store at the same time, so finding an object there is success.
"""

from __future__ import annotations

from proreus.api.status import AlreadyExists
from proreus.server.http.services import Services
from proreus.server.registry.user import SYSTEM
from proreus.server.registry.verbs.create import create
from proreus.server.registry.write import Admission, Write
from proreus.server.schema.rules import JsonObject

_NAMESPACES = ("kube-system", "kube-public", "kube-node-lease", "default")
_SERVICE_IP = "10.0.0.1"
_SYSTEM_CLASSES = {"system-node-critical": 2000001000, "system-cluster-critical": 2000000000}


async def make_system_objects(services: Services) -> None:
    for name in _NAMESPACES:
        await _ensure(services, "namespaces", "Namespace", "", {"metadata": {"name": name}})
    await _ensure(services, "services", "Service", "default", _kubernetes())
    for name, value in _SYSTEM_CLASSES.items():
        await _ensure(services, "priorityclasses", "PriorityClass", "", _class(name, value))


async def _ensure(
    services: Services, plural: str, kind: str, namespace: str, obj: JsonObject
) -> None:
    group = "scheduling.k8s.io" if plural == "priorityclasses" else ""
    collection = services.collections.named(group, "v1", plural)
    name = obj["metadata"]["name"]
    key = collection.key(namespace, name)
    if await collection.store.get(key) is not None:
        return
    write = Write(
        collection=collection,
        namespace=namespace,
        name=name,
        user=SYSTEM,
        now=services.clock.now(),
        field_manager="proreus",
        admission=Admission(),
    )
    try:
        await create(write, {"kind": kind, "apiVersion": collection.resource.api_version, **obj})
    except AlreadyExists:
        return


def _kubernetes() -> JsonObject:
    labels = {"component": "apiserver", "provider": "kubernetes"}
    return {
        "metadata": {"name": "kubernetes", "labels": labels},
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
    what = "node" if "node" in name else "cluster"
    return {
        "metadata": {"name": name},
        "value": value,
        "description": f"Used for system critical pods that must run in the {what}.",
        "preemptionPolicy": "PreemptLowerPriority",
    }
