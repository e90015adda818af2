"""Node lifecycle: taints by condition, Unknown after missed heartbeats, eviction by taint.

Receives: keys of nodes, from their events, their leases and the clock.  Hands on: conditions and
taints of nodes, readiness and deletion of their pods.
Invariant: the grace period runs on the own clock, from when a heartbeat was last seen to change, so
that clocks of nodes may be wrong.
"""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from dataclasses import dataclass

from proreus.api.frozen import thaw
from proreus.api.json_types import Json, JsonObject
from proreus.api.object import KubeObject
from proreus.api.status import NotFound
from proreus.api.values.timestamp import format_time, parse_time
from proreus.client import conditions
from proreus.client.controller import Controller, Result, Watch
from proreus.cluster.controllers.context import ControllerContext
from proreus.cluster.controllers.reconciler import ObjectReconciler
from proreus.cluster.pod_status import is_deleting, is_ready, node_name
from proreus.cluster.scheduler.filters.taints import tolerates

EVICTION_S = 300.0  # for pods that say nothing else
LEASES = "kube-node-lease"
NODE_INDEX = "node"
_NOT_READY, _UNREACHABLE = "node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable"
_UNSCHEDULABLE = "node.kubernetes.io/unschedulable"
_PRESSURES = {
    "MemoryPressure": "node.kubernetes.io/memory-pressure",
    "DiskPressure": "node.kubernetes.io/disk-pressure",
    "PIDPressure": "node.kubernetes.io/pid-pressure",
}
_OWN = frozenset({_NOT_READY, _UNREACHABLE, _UNSCHEDULABLE, *_PRESSURES.values()})


def node_lifecycle_controller(context: ControllerContext) -> Controller:
    nodes = Nodes(context)
    return nodes.controller(
        "node-lifecycle", watches=[Watch(nodes.leases, lambda lease: (lease.name,))]
    )


# Decisions


@dataclass(frozen=True, slots=True)
class ObservedHeartbeat:
    """The last heartbeat of a node, and when it was first observed."""

    token: tuple[str, str]
    at: float


def heartbeat_of(node: KubeObject, lease: KubeObject | None) -> tuple[str, str]:
    renewed = str(lease.spec.renewTime or "") if lease is not None else ""
    ready = conditions.find(node, "Ready")
    return renewed, str((ready or {}).get("lastHeartbeatTime") or "")


def readiness(node: KubeObject) -> str:
    """The status of the Ready condition: True, False, Unknown, or empty without one."""
    ready = conditions.find(node, "Ready")
    return str(ready.get("status") or "") if ready is not None else ""


def unknown_conditions(node: KubeObject, now: float) -> list[conditions.Condition]:
    """The conditions of a node without heartbeats, all Unknown."""
    found = conditions.present(node)
    for kind in ("Ready", *_PRESSURES):
        known = conditions.among(found, kind)
        reason = "NodeStatusUnknown" if known is not None else "NodeStatusNeverUpdated"
        message = "Kubelet stopped posting node status." if known is not None else (
            "Kubelet never posted node status."
        )  # fmt: skip
        made = conditions.condition(kind, "Unknown", reason, message, now)
        if known is not None and known.get("lastHeartbeatTime"):
            made["lastHeartbeatTime"] = known["lastHeartbeatTime"]
        if known is None or known.get("status") != "Unknown":
            found = conditions.with_condition(found, made)
    return found


def taints_for(node: KubeObject, now: float) -> list[JsonObject]:
    """The taints a node should have: others' stay, ours follow its conditions."""
    present: list[JsonObject] = thaw(node.spec.taints or [])
    wanted: list[tuple[str, str]] = []
    ready = readiness(node)
    if ready == "":
        wanted.append((_NOT_READY, "NoSchedule"))
    elif ready != "True":
        key = _NOT_READY if ready == "False" else _UNREACHABLE
        wanted += [(key, "NoSchedule"), (key, "NoExecute")]
    wanted += [
        (key, "NoSchedule") for kind, key in _PRESSURES.items() if conditions.is_true(node, kind)
    ]
    if node.spec.unschedulable:
        wanted.append((_UNSCHEDULABLE, "NoSchedule"))
    kept = [
        one
        for one in present
        if one["key"] not in _OWN or (one["key"], one.get("effect")) in wanted
    ]
    there = {(one["key"], one.get("effect")) for one in kept}
    made = [
        {"key": key, "effect": effect, "timeAdded": format_time(now)}
        for key, effect in wanted
        if (key, effect) not in there
    ]
    return [*kept, *made]


@dataclass(frozen=True, slots=True)
class ObservedTaint:
    """A taint that ends pods, and since when the node has it."""

    taint: Json
    since: float


def observed_taints(
    node: KubeObject, before: Sequence[ObservedTaint], now: float
) -> list[ObservedTaint]:
    """The node's NoExecute taints. What was put there by hand says no time: then it is since it was
    first observed."""
    known = {_identity(one.taint): one.since for one in before}
    return [
        ObservedTaint(
            taint,
            parse_time(taint["timeAdded"])
            if taint.get("timeAdded")
            else known.get(_identity(taint), now),
        )
        for taint in node.spec.taints or ()
        if taint.get("effect") == "NoExecute"
    ]


def _identity(taint: Json) -> tuple[str, str]:
    return taint["key"], taint.get("value") or ""


def until_eviction_s(pod: KubeObject, taints: Sequence[ObservedTaint], now: float) -> float | None:
    """When a pod must leave because of its node's NoExecute taints; None: it may stay."""
    delays: list[float] = []
    tolerations = [thaw(one) for one in pod.spec.tolerations or ()]
    for observed in taints:
        taint, since = observed.taint, observed.since
        accepted = [one for one in tolerations if tolerates([one], taint)]
        if not accepted:
            allowed = EVICTION_S if taint["key"] in (_NOT_READY, _UNREACHABLE) else 0.0
            delays.append(max(0.0, since + allowed - now))
            continue
        limits = [one["tolerationSeconds"] for one in accepted if "tolerationSeconds" in one]
        if len(limits) == len(accepted):
            delays.append(max(0.0, since + min(limits) - now))
    return min(delays, default=None)


def is_well(node: KubeObject) -> bool:
    """Whether its pods may stay as they are."""
    taints = node.spec.taints or ()
    return readiness(node) == "True" and not any(one.get("effect") == "NoExecute" for one in taints)


def by_node(pod: KubeObject) -> list[str]:
    return [node] if (node := node_name(pod)) else []


# Acting


class Nodes(ObjectReconciler):
    """Looks at one node at a time."""

    def __init__(self, context: ControllerContext) -> None:
        super().__init__(context, "nodes", "node-controller")
        self._grace_s = context.settings.node_monitor_grace_period_s
        self.leases = context.informers.informer("leases.coordination.k8s.io", namespace=LEASES)
        self.pods = context.informers.informer("pods", indexes={NODE_INDEX: by_node})
        self._heartbeats: dict[str, ObservedHeartbeat] = {}
        self._settled: dict[str, str] = {}  # the version of a node that needed nothing
        self._taints: dict[str, list[ObservedTaint]] = {}  # of nodes that are not well

    def forget(self, key: str) -> None:
        self._heartbeats.pop(key, None)
        self._taints.pop(key, None)
        self._settled.pop(key, None)

    async def sync(self, node: KubeObject) -> Result | None:
        left_s = self._grace_left_s(node)
        if left_s > 0 and self._settled.get(node.key) == node.resource_version:
            return Result(left_s)  # a lease was renewed
        if left_s <= 0 and readiness(node) != "Unknown":
            node = await self._mark_unknown(node)
        is_settled = not await self._set_taints(node) and is_well(node)
        if is_well(node):
            self._taints.pop(node.key, None)
            again_s = None
        else:
            again_s = await self._process_pods(node)
        self._settled[node.key] = node.resource_version if is_settled else ""
        delays = [one for one in (left_s, again_s) if one is not None and one > 0]
        return Result(min(delays, default=None))

    def _grace_left_s(self, node: KubeObject) -> float:
        """How much of the grace period is left."""
        token = heartbeat_of(node, self.leases.indexer.get(f"{LEASES}/{node.name}"))
        now, seen = self.clock.monotonic(), self._heartbeats.get(node.key)
        if seen is None or seen.token != token:
            seen = self._heartbeats[node.key] = ObservedHeartbeat(token, now)
        return seen.at + self._grace_s - now

    async def _mark_unknown(self, node: KubeObject) -> KubeObject:
        found = unknown_conditions(node, self.clock.now())
        written = await self.write_status(node, {**thaw(node.status or {}), "conditions": found})
        message = f"Node {node.name} status is now: NodeNotReady"
        self.record(node, "NodeNotReady", message)
        return written

    async def _set_taints(self, node: KubeObject) -> bool:
        """Whether they were wrong."""
        wanted = taints_for(node, self.clock.now())
        if wanted == (node.spec.taints or []):
            return False
        content = node.to_dict()
        content["spec"]["taints"] = wanted
        await self.api.replace(content)
        return True

    async def _process_pods(self, node: KubeObject) -> float | None:
        """Mark pods of an unreachable node not ready, and evict those whose toleration ran out."""
        now, soonest = self.clock.now(), None
        before = self._taints.get(node.key, ())
        taints = self._taints[node.key] = observed_taints(node, before, now)
        for pod in self.pods.indexer.by_index(NODE_INDEX, node.name):
            if readiness(node) == "Unknown" and is_ready(pod):
                await self._mark_unready(pod)
            delay_s = until_eviction_s(pod, taints, now)
            if delay_s == 0 and not is_deleting(pod):
                await self._evict(pod)
            elif delay_s:
                soonest = min(delay_s, soonest or delay_s)
        return soonest

    async def _mark_unready(self, pod: KubeObject) -> None:
        now = self.clock.now()
        text = "The node that this pod runs on does not answer."
        unready = conditions.condition("Ready", "False", "NodeNotReady", text, now)
        patch = {"metadata": {"uid": pod.uid}, "status": {"conditions": [unready]}}
        api = self.client.core_v1.pods(pod.namespace)
        with contextlib.suppress(NotFound):
            await api.patch_status(pod.name, patch, type="strategic")

    async def _evict(self, pod: KubeObject) -> None:
        message = f"Marking for deletion Pod {pod.key}"
        self.record(pod, "TaintManagerEviction", message)
        with contextlib.suppress(NotFound):
            await self.client.core_v1.pods(pod.namespace).delete(pod.name, uid=pod.uid)
