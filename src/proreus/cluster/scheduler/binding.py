"""What the scheduler writes: a pod's node, or why it has none. Thin I/O, no decisions."""

from __future__ import annotations

from proreus.aio.clock import Clock
from proreus.api.json_types import JsonObject
from proreus.api.object import KubeObject
from proreus.api.status import Conflict, NotFound
from proreus.api.values.timestamp import format_time
from proreus.client import Client, conditions
from proreus.cluster.scheduler.pod import PodView

_CONDITION = "PodScheduled"


async def bind(client: Client, pod: PodView, node: str) -> None:
    """Raises ApiError (Conflict: assigned by another scheduler, or another pod), TransportError."""
    binding = {
        "apiVersion": "v1",
        "kind": "Binding",
        "metadata": {"name": pod.name, "namespace": pod.namespace, "uid": pod.uid},
        "target": {"apiVersion": "v1", "kind": "Node", "name": node},
    }
    await client.core_v1.pods(pod.namespace).create(binding, subresource="binding")


async def report_unschedulable(
    client: Client, clock: Clock, pod: KubeObject, why: str, nominated: str | None
) -> None:
    """Say it in the pod's status, once: the same words are not written again. ``nominated``: the
    node where room is being made, empty if that has come to nothing; None: as before."""
    known = conditions.find(pod, _CONDITION) or {}
    before = (pod.get("status") or {}).get("nominatedNodeName") or ""
    is_known = known.get("status") == "False" and known.get("message") == why
    if is_known and nominated in (None, before):
        return
    condition: JsonObject = {
        "type": _CONDITION,
        "observedGeneration": pod.metadata.generation,
        "status": "False",
        "reason": "Unschedulable",
        "message": why,
    }
    if known.get("status") != "False":
        condition["lastTransitionTime"] = format_time(clock.now())
    status: JsonObject = {"conditions": [condition]}
    if nominated is not None and nominated != before:
        status["nominatedNodeName"] = nominated or None
    patch = {"metadata": {"uid": pod.uid}, "status": status}
    await client.core_v1.pods(pod.namespace).patch_status(pod.name, patch, type="strategic")


async def withdraw_nomination(client: Client, pod: PodView) -> None:
    """The room that was being made for it is for a more important pod now."""
    patch = {"metadata": {"uid": pod.uid}, "status": {"nominatedNodeName": None}}
    await client.core_v1.pods(pod.namespace).patch_status(pod.name, patch, type="strategic")


async def evict(client: Client, clock: Clock, scheduler: str, victim: PodView) -> KubeObject | None:
    """Let a pod go, gracefully, for a more important one; None if it is gone already."""
    pods = client.core_v1.pods(victim.namespace)
    text = f"{scheduler}: preempting to accommodate a higher priority pod"
    reason = "PreemptionByScheduler"
    condition = conditions.condition("DisruptionTarget", "True", reason, text, clock.now())
    patch = {"metadata": {"uid": victim.uid}, "status": {"conditions": [condition]}}
    try:
        marked = await pods.patch_status(victim.name, patch, type="strategic")
        await pods.delete(victim.name, uid=victim.uid)
    except (NotFound, Conflict):  # gone, or another has its name
        return None
    return marked
