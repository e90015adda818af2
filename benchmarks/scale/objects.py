"""What the hollow cluster is made of: pods of 3.7 kB, nodes of 5 kB, leases, and their changes."""

from __future__ import annotations

import datetime
import time
from typing import Any

from benchmarks import api_server
from proreus.api.wire import json

PODS = "/api/v1/namespaces/default/pods"
NODES = "/api/v1/nodes"
LEASES = "/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases"
STRATEGIC = "application/strategic-merge-patch+json"
_IMAGES = 20
_CONDITIONS = ("MemoryPressure", "DiskPressure", "PIDPressure", "Ready")


def pod(number: int, nodes: int) -> bytes:
    value = json.decode(api_server.pod(number))
    value["spec"]["nodeName"] = f"node-{number % nodes}"
    return json.encode(value)


def pod_name(number: int) -> str:
    return f"web-{number:05}"


def pod_change(sent_ns: int) -> bytes:
    """As a kubelet reports; the annotation says when it was sent."""
    condition = {"type": "Ready", "status": "True", "reason": str(sent_ns)}
    status = {"phase": "Running", "conditions": [condition]}
    return json.encode({"metadata": {"annotations": {"sent": str(sent_ns)}}, "status": status})


def node(number: int) -> bytes:
    images = [
        {"names": [f"registry.example.com/team/service-{n}@sha256:{n:064x}"], "sizeBytes": 10**8}
        for n in range(_IMAGES)
    ]
    value: dict[str, Any] = {
        "kind": "Node",
        "apiVersion": "v1",
        "metadata": {"name": f"node-{number}", "labels": {"kubernetes.io/hostname": str(number)}},
        "status": {
            "capacity": {"cpu": "8", "memory": "32Gi", "pods": "110"},
            "conditions": _conditions(),
            "images": images,
        },
    }
    return json.encode(value)


def node_status() -> bytes:
    return json.encode({"status": {"conditions": _conditions()}})


def lease(number: int, version: str = "") -> bytes:
    """``version`` is that of the lease that is renewed."""
    spec = {"holderIdentity": f"node-{number}", "leaseDurationSeconds": 40, "renewTime": _now()}
    metadata = {"name": f"node-{number}", "namespace": "kube-node-lease"}
    if version:
        metadata["resourceVersion"] = version
    value = {"kind": "Lease", "apiVersion": "coordination.k8s.io/v1", "metadata": metadata}
    return json.encode({**value, "spec": spec})


def _conditions() -> list[dict[str, str]]:
    return [
        {
            "type": kind,
            "status": "False",
            "reason": _reason(),
            "lastHeartbeatTime": _now()[:19] + "Z",
        }
        for kind in _CONDITIONS
    ]


def _reason() -> str:
    """Another each time: a write that changes nothing costs less."""
    return str(time.monotonic_ns())


def _now() -> str:
    return datetime.datetime.now(datetime.UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
