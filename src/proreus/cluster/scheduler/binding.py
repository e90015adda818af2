"""What the scheduler writes: a pod's node, or why it has none. Thin I/O, no decisions."""

from __future__ import annotations

from typing import Any

from proreus.aio.clock import Clock
from proreus.api.object import KubeObject
from proreus.api.values.timestamp import format_time
from proreus.client import Client
from proreus.cluster.scheduler.pod import PodView

_CONDITION = "PodScheduled"


async def bind(client: Client, pod: PodView, node: str) -> None:
    """Raises ApiError (Conflict: assigned by somebody else, or another pod), TransportError."""
    binding = {
        "apiVersion": "v1",
        "kind": "Binding",
        "metadata": {"name": pod.name, "namespace": pod.namespace, "uid": pod.uid},
        "target": {"apiVersion": "v1", "kind": "Node", "name": node},
    }
    await client.core_v1.pods(pod.namespace).create(binding, subresource="binding")


async def report_unschedulable(client: Client, clock: Clock, pod: KubeObject, why: str) -> None:
    """Say it in the pod's status, once: the same words are not written again."""
    known = _condition(pod)
    if known.get("status") == "False" and known.get("message") == why:
        return
    condition: dict[str, Any] = {
        "type": _CONDITION,
        "status": "False",
        "reason": "Unschedulable",
        "message": why,
    }
    if known.get("status") != "False":
        condition["lastTransitionTime"] = format_time(clock.now())
    patch = {"metadata": {"uid": pod.uid}, "status": {"conditions": [condition]}}
    await client.core_v1.pods(pod.namespace).patch_status(pod.name, patch, type="strategic")


def _condition(pod: KubeObject) -> dict[str, Any]:
    for condition in (pod.get("status") or {}).get("conditions") or ():
        if condition["type"] == _CONDITION:
            found: dict[str, Any] = condition.to_dict()
            return found
    return {}
