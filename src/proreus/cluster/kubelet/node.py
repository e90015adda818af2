"""The Node object: capacity, conditions, addresses, the kubelet's endpoint. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from proreus.api.json_types import Json, JsonObject
from proreus.api.object import KubeObject
from proreus.api.values.timestamp import format_time

NOT_READY_TAINT = "node.kubernetes.io/not-ready"
_OS = "linux"
# What resizing asks of nodes, by the names that Kubernetes gives these features.
_FEATURES = (
    "GuaranteedQoSPodCPUResize",
    "InPlacePodLevelResourcesVerticalScaling",
    "InPlacePodVerticalScalingInitContainers",
)
# type, status, reason, message
_CONDITIONS = (
    ("MemoryPressure", "False", "KubeletHasSufficientMemory", "kubelet has sufficient memory"),
    ("DiskPressure", "False", "KubeletHasNoDiskPressure", "kubelet has no disk pressure"),
    ("PIDPressure", "False", "KubeletHasSufficientPID", "kubelet has sufficient PIDs"),
    ("Ready", "True", "KubeletReady", "kubelet is posting ready status"),
)


def simulated_capacity() -> dict[str, str]:
    return {"cpu": "16", "memory": "64Gi", "ephemeral-storage": "100Gi", "pods": "110"}


@dataclass(frozen=True, slots=True)
class SystemInfo:
    """What a node runs on; empty identities are the node's name."""

    runtime: str = "simulated://1"
    architecture: str = "amd64"
    kernel: str = "simulated"
    os_image: str = "simulated"
    machine_id: str = ""
    boot_id: str = ""


@dataclass(frozen=True, slots=True)
class KubeletEndpoint:
    """Where a node's kubelet listens."""

    host: str
    port: int


@dataclass(frozen=True, slots=True)
class NodeDescription:
    name: str
    pod_cidr: str
    host_ip: str
    version: str
    endpoint: KubeletEndpoint | None = None
    capacity: Mapping[str, str] = field(default_factory=simulated_capacity)
    system: SystemInfo = SystemInfo()


def node_object(node: NodeDescription, now: float) -> JsonObject:
    """A node that registers for the first time."""
    labels = {
        "kubernetes.io/hostname": node.name,
        "kubernetes.io/os": _OS,
        "kubernetes.io/arch": node.system.architecture,
    }
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": node.name, "labels": labels},
        "spec": {"podCIDR": node.pod_cidr, "podCIDRs": [node.pod_cidr]},
        "status": node_status(node, None, now),
    }


def node_status(node: NodeDescription, known: KubeObject | None, now: float) -> JsonObject:
    """All of the status; times of transitions that did not happen now are kept from ``known``."""
    said = (known.get("status") or {}) if known is not None else {}
    before = {c["type"]: c for c in said.get("conditions") or ()}
    endpoint, system = node.endpoint, node.system
    status: JsonObject = {
        "capacity": dict(node.capacity),
        "allocatable": _allocatable(node, said),
        "declaredFeatures": list(_FEATURES),
        "addresses": [
            {"type": "InternalIP", "address": endpoint.host if endpoint else node.host_ip},
            {"type": "Hostname", "address": node.name},
        ],
        "nodeInfo": {
            "architecture": system.architecture,
            "bootID": system.boot_id or node.name,
            "containerRuntimeVersion": system.runtime,
            "kernelVersion": system.kernel,
            "kubeProxyVersion": node.version,
            "kubeletVersion": node.version,
            "machineID": system.machine_id or node.name,
            "operatingSystem": _OS,
            "osImage": system.os_image,
            "systemUUID": system.machine_id or node.name,
        },
        "conditions": [
            _condition(before.get(kind) or {}, kind, status, reason, message, now)
            for kind, status, reason, message in _CONDITIONS
        ],
    }
    if endpoint is not None:
        status["daemonEndpoints"] = {"kubeletEndpoint": {"Port": endpoint.port}}
    return status


def status_patch(status: Json, known: KubeObject) -> JsonObject:
    """A strategic patch. Addresses are replaced: merged by type, two of one type become one, and
    one of a type that is no longer reported stays. So does what is no longer allocatable."""
    addresses = [{"$patch": "replace"}, *status["addresses"]]
    before = (known.get("status") or {}).get("allocatable") or {}
    allocatable = {**dict.fromkeys(before), **status["allocatable"]}
    return {"status": {**status, "addresses": addresses, "allocatable": allocatable}}


def is_allocatable(node: NodeDescription, known: KubeObject) -> bool:
    """Whether pods can have what others wrote into the stored node's capacity."""
    said = known.get("status") or {}
    found = said.get("allocatable") or {}
    return {**found, **node.capacity} == _allocatable(node, said)


def _allocatable(node: NodeDescription, said: Json) -> dict[str, str]:
    """All of the capacity. Extended resources are written there by others (``kubectl patch
    --subresource=status``), and it is the kubelet that lets pods have them."""
    return {**(said.get("capacity") or {}), **node.capacity}


def is_healthy(node: KubeObject) -> bool:
    """Whether the stored node is Ready."""
    conditions = (node.get("status") or {}).get("conditions") or ()
    return any(c["type"] == "Ready" and c["status"] == "True" for c in conditions)


def taints_when_ready(node: KubeObject) -> list[JsonObject] | None:
    """The taints without those of a node that is not ready; None: nothing to take away.

    A lifecycle controller does the same. A kubelet with the rights to do it does it too, so that a
    cluster without controllers can schedule, and a new node need not wait for them.
    """
    taints = [taint.to_dict() for taint in (node.get("spec") or {}).get("taints") or ()]
    left = [t for t in taints if t["key"] != NOT_READY_TAINT]
    return left if len(left) < len(taints) else None


def _condition(
    known: Json, kind: str, status: str, reason: str, message: str, now: float
) -> JsonObject:
    time = format_time(now)
    changed = known.get("status") != status
    return {
        "type": kind,
        "status": status,
        "reason": reason,
        "message": message,
        "lastHeartbeatTime": time,
        "lastTransitionTime": time if changed else known.get("lastTransitionTime"),
    }
