"""Nodes that live and nodes that do not: taints by condition, Unknown after silence, eviction.

Receives: keys of nodes, from their events, their leases and the clock.  Hands on: conditions and
taints of nodes, readiness and deletion of their pods.
Invariant: silence is measured on the own clock, from when a sign of life was last seen to change,
so that clocks of nodes may be wrong.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from proreus.api.frozen import thaw
from proreus.api.object import KubeObject
from proreus.api.status import NotFound
from proreus.api.values.timestamp import format_time, parse_time
from proreus.client.controller import Controller, Result, Watch
from proreus.cluster.controllers import conditions
from proreus.cluster.controllers.own_writes import OwnWrites, reconciling
from proreus.cluster.controllers.ownership import is_deleting
from proreus.cluster.controllers.pod_template import is_ready
from proreus.cluster.controllers.setting import Setting
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


def node_lifecycle_controller(setting: Setting) -> Controller:
    sync = Nodes(setting)
    return Controller(
        reconciling(sync.informer, sync.writes, sync.sync, sync.forget),
        sync.informer,
        watches=[Watch(sync.leases, lambda lease: (lease.name,))],
        name="node-lifecycle",
        concurrency=5,
    )


# Decisions


@dataclass(frozen=True, slots=True)
class Sign:
    """The last sign of life of a node, and when it was first seen."""

    token: tuple[str, str]
    at: float


def sign_of(node: KubeObject, lease: KubeObject | None) -> tuple[str, str]:
    renewed = str(lease.spec.renewTime or "") if lease is not None else ""
    ready = conditions.find((node.status or {}).get("conditions"), "Ready")
    return renewed, str((ready or {}).get("lastHeartbeatTime") or "")


def readiness(node: KubeObject) -> str:
    """True, False, Unknown, or empty if the node has not said."""
    ready = conditions.find((node.status or {}).get("conditions"), "Ready")
    return str(ready.get("status") or "") if ready is not None else ""


def silent_conditions(node: KubeObject, now: float) -> list[conditions.Condition]:
    """What was claimed is no longer known."""
    found: list[conditions.Condition] = thaw((node.status or {}).get("conditions") or [])
    for kind in ("Ready", *_PRESSURES):
        known = conditions.find(found, kind)
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


def taints_for(node: KubeObject, now: float) -> list[dict[str, Any]]:
    """The taints a node should have: others' stay, ours follow its conditions."""
    present: list[dict[str, Any]] = thaw(node.spec.taints or [])
    wanted: list[tuple[str, str]] = []
    ready = readiness(node)
    if ready == "":
        wanted.append((_NOT_READY, "NoSchedule"))
    elif ready != "True":
        key = _NOT_READY if ready == "False" else _UNREACHABLE
        wanted += [(key, "NoSchedule"), (key, "NoExecute")]
    found = (node.status or {}).get("conditions")
    for kind, key in _PRESSURES.items():
        if (conditions.find(found, kind) or {}).get("status") == "True":
            wanted.append((key, "NoSchedule"))
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


def evict_in_s(pod: KubeObject, taints: Sequence[Any], now: float) -> float | None:
    """When a pod must leave because of its node's NoExecute taints; None: it may stay."""
    delays: list[float] = []
    tolerations = [thaw(one) for one in pod.spec.tolerations or ()]
    for taint in taints:
        if taint.get("effect") != "NoExecute":
            continue
        since = parse_time(taint["timeAdded"]) if taint.get("timeAdded") else now
        accepted = [one for one in tolerations if tolerates([one], taint)]
        if not accepted:
            allowed = EVICTION_S if taint["key"] in (_NOT_READY, _UNREACHABLE) else 0.0
            delays.append(max(0.0, since + allowed - now))
            continue
        limits = [one["tolerationSeconds"] for one in accepted if "tolerationSeconds" in one]
        if len(limits) == len(accepted):
            delays.append(max(0.0, since + min(limits) - now))
    return min(delays, default=None)


def by_node(pod: KubeObject) -> list[str]:
    return [str(pod.spec.nodeName)] if pod.spec.nodeName else []


# Acting


class Nodes:
    """Looks at one node at a time."""

    def __init__(self, setting: Setting) -> None:
        self._client = setting.client
        self._clock = setting.clock
        self._grace_s = setting.settings.node_monitor_grace_period_s
        self._recorder = setting.recorder("node-controller")
        self.informer = setting.informers.informer("nodes")
        self.leases = setting.informers.informer("leases.coordination.k8s.io", namespace=LEASES)
        self.pods = setting.informers.informer("pods", indexes={NODE_INDEX: by_node})
        self.writes = OwnWrites()
        self._signs: dict[str, Sign] = {}

    def forget(self, key: str) -> None:
        self._signs.pop(key, None)

    async def sync(self, node: KubeObject) -> Result | None:
        left_s = self._left_s(node)
        if left_s <= 0 and readiness(node) != "Unknown":
            node = await self._declare_unknown(node)
        await self._set_taints(node)
        again_s = await self._look_after_pods(node)
        delays = [one for one in (left_s, again_s) if one is not None and one > 0]
        return Result(min(delays, default=None))

    def _left_s(self, node: KubeObject) -> float:
        """How long the node may stay silent."""
        token = sign_of(node, self.leases.indexer.get(f"{LEASES}/{node.name}"))
        now, seen = self._clock.monotonic(), self._signs.get(node.key)
        if seen is None or seen.token != token:
            seen = self._signs[node.key] = Sign(token, now)
        return seen.at + self._grace_s - now

    async def _declare_unknown(self, node: KubeObject) -> KubeObject:
        found = silent_conditions(node, self._clock.now())
        content = node.to_dict()
        content["status"] = {**(content.get("status") or {}), "conditions": found}
        written = await self._client.core_v1.nodes.replace_status(content)
        self.writes.wrote(node.key, self.informer, written)
        message = f"Node {node.name} status is now: NodeNotReady"
        self._recorder.event(node, "Normal", "NodeNotReady", message)
        return written

    async def _set_taints(self, node: KubeObject) -> None:
        wanted = taints_for(node, self._clock.now())
        if wanted == (node.spec.taints or []):
            return
        content = node.to_dict()
        content["spec"]["taints"] = wanted
        written = await self._client.core_v1.nodes.replace(content)
        self.writes.wrote(node.key, self.informer, written)

    async def _look_after_pods(self, node: KubeObject) -> float | None:
        """Pods of a silent node are not ready, and leave when their time is up."""
        taints = [one for one in node.spec.taints or () if one.get("effect") == "NoExecute"]
        if readiness(node) == "True" and not taints:
            return None
        now, soonest = self._clock.now(), None
        for pod in self.pods.indexer.by_index(NODE_INDEX, node.name):
            if readiness(node) == "Unknown" and is_ready(pod):
                await self._mark_unready(pod)
            delay_s = evict_in_s(pod, taints, now)
            if delay_s == 0 and not is_deleting(pod):
                await self._evict(pod)
            elif delay_s:
                soonest = min(delay_s, soonest or delay_s)
        return soonest

    async def _mark_unready(self, pod: KubeObject) -> None:
        now = self._clock.now()
        text = "The node that this pod runs on does not answer."
        unready = conditions.condition("Ready", "False", "NodeNotReady", text, now)
        patch = {"metadata": {"uid": pod.uid}, "status": {"conditions": [unready]}}
        api = self._client.core_v1.pods(pod.namespace)
        try:
            await api.patch_status(pod.name, patch, type="strategic")
        except NotFound:
            return

    async def _evict(self, pod: KubeObject) -> None:
        message = f"Marking for deletion Pod {pod.key}"
        self._recorder.event(pod, "Normal", "TaintManagerEviction", message)
        try:
            await self._client.core_v1.pods(pod.namespace).delete(pod.name, uid=pod.uid)
        except NotFound:
            return
