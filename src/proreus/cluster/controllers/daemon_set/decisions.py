"""Which nodes get a pod of a DaemonSet, which pods go, in which order they are renewed. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from proreus.api.object import KubeObject
from proreus.api.values.int_or_string import scaled
from proreus.cluster.controllers.ownership import is_deleting
from proreus.cluster.controllers.pod_template import (
    content_hash,
    created_at,
    is_available,
    is_finished,
    is_ready,
    pod_from_template,
)
from proreus.cluster.scheduler.filters import node_affinity
from proreus.cluster.scheduler.filters.taints import untolerated
from proreus.cluster.scheduler.node import NodeState
from proreus.cluster.scheduler.pod import PodView

HASH_LABEL = "controller-revision-hash"
_NAME = "metadata.name"
_REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
_TOLERATED = (
    ("node.kubernetes.io/not-ready", "NoExecute"),
    ("node.kubernetes.io/unreachable", "NoExecute"),
    ("node.kubernetes.io/disk-pressure", "NoSchedule"),
    ("node.kubernetes.io/memory-pressure", "NoSchedule"),
    ("node.kubernetes.io/pid-pressure", "NoSchedule"),
    ("node.kubernetes.io/unschedulable", "NoSchedule"),
)


@dataclass(frozen=True, slots=True)
class Fit:
    """Whether a pod may begin on a node, and whether one that is there may stay."""

    may_begin: bool
    may_stay: bool


@dataclass(frozen=True, slots=True)
class Plan:
    start: tuple[str, ...] = ()  # nodes
    stop: tuple[KubeObject, ...] = ()


def pod_for(daemon_set: KubeObject, node: str) -> dict[str, Any]:
    """A pod that fits one node only; the scheduler binds it like any other."""
    pod = pod_from_template(daemon_set.spec.template, daemon_set)
    labels = pod["metadata"].setdefault("labels", {})
    labels[HASH_LABEL] = revision(daemon_set)
    spec = pod["spec"]
    here = {"matchFields": [{"key": _NAME, "operator": "In", "values": [node]}]}
    affinity = spec.setdefault("affinity", {}).setdefault("nodeAffinity", {})
    terms = (affinity.get(_REQUIRED) or {}).get("nodeSelectorTerms") or [{}]
    affinity[_REQUIRED] = {"nodeSelectorTerms": [{**term, **here} for term in terms]}
    present = spec.get("tolerations") or []
    always = [{"key": k, "operator": "Exists", "effect": e} for k, e in _TOLERATED]
    spec["tolerations"] = [*present, *(one for one in always if one not in present)]
    return pod


def revision(daemon_set: KubeObject) -> str:
    return content_hash(daemon_set.spec.template)


def fit(daemon_set: KubeObject, node: KubeObject) -> Fit:
    state = NodeState(node.name)
    state.update(node)
    pod = PodView.read(KubeObject.from_dict(pod_for(daemon_set, node.name)))
    refuse = node_affinity.node_filter(pod)
    if refuse is not None and refuse(state) is not None:
        return Fit(may_begin=False, may_stay=False)
    stay = not list(untolerated(state.taints, pod.tolerations, ("NoExecute",)))
    begin = stay and not list(untolerated(state.taints, pod.tolerations, ("NoSchedule",)))
    return Fit(begin, stay)


def node_of(pod: KubeObject) -> str:
    """Where a pod is, or the only place it may go."""
    if pod.spec.nodeName:
        return str(pod.spec.nodeName)
    affinity = ((pod.spec.affinity or {}).get("nodeAffinity") or {}).get(_REQUIRED) or {}
    for term in affinity.get("nodeSelectorTerms") or ():
        for one in term.get("matchFields") or ():
            if one.get("key") == _NAME and one.get("values"):
                return str(one["values"][0])
    return ""


def plan(
    daemon_set: KubeObject, fits: Mapping[str, Fit], pods: Sequence[KubeObject], now: float
) -> Plan:
    """Missing pods begin and wrong ones go at once; outdated ones a few at a time, after that."""
    start: list[str] = []
    stop: list[KubeObject] = []
    settled: list[KubeObject] = []
    by_node: dict[str, list[KubeObject]] = {}
    for pod in pods:
        by_node.setdefault(node_of(pod), []).append(pod)
    for node in sorted({*fits, *by_node}):
        decided = fits.get(node, Fit(may_begin=False, may_stay=False))
        there = [pod for pod in by_node.get(node, []) if not is_deleting(pod)]
        ended = [pod for pod in there if is_finished(pod)]
        running = sorted((p for p in there if not is_finished(p)), key=created_at)
        stop += ended
        if not decided.may_stay:
            stop += running
        elif running:
            settled.append(running[0])
            stop += running[1:]
        elif decided.may_begin and not by_node.get(node):
            start.append(node)
    if not start and not stop:
        stop = _outdated(daemon_set, fits, settled, now)
    return Plan(tuple(start), tuple(stop))


def _outdated(
    daemon_set: KubeObject, fits: Mapping[str, Fit], pods: Sequence[KubeObject], now: float
) -> list[KubeObject]:
    strategy = daemon_set.spec.updateStrategy or {}
    if strategy.get("type") == "OnDelete":
        return []
    current = revision(daemon_set)
    old = [pod for pod in pods if pod.labels.get(HASH_LABEL) != current]
    min_ready_s = daemon_set.spec.minReadySeconds or 0
    lame = [pod for pod in old if not is_available(pod, min_ready_s, now)]
    desired = sum(one.may_begin for one in fits.values())
    limit = (strategy.get("rollingUpdate") or {}).get("maxUnavailable", 1)
    allowed = max(1, scaled(limit, desired, round_up=True))
    available = sum(is_available(pod, min_ready_s, now) for pod in pods)
    room = max(0, allowed - max(0, desired - available))
    healthy = [pod for pod in old if is_available(pod, min_ready_s, now)]
    return [*lame, *healthy[:room]]


def status_of(
    daemon_set: KubeObject, fits: Mapping[str, Fit], pods: Sequence[KubeObject], now: float
) -> dict[str, Any]:
    current, min_ready_s = revision(daemon_set), daemon_set.spec.minReadySeconds or 0
    there: dict[str, KubeObject] = {}
    for pod in sorted(pods, key=created_at, reverse=True):
        if not is_deleting(pod) and not is_finished(pod):
            there[node_of(pod)] = pod
    wanted = {node for node, decided in fits.items() if decided.may_begin}
    right = [pod for node, pod in there.items() if node in wanted]
    available = sum(is_available(pod, min_ready_s, now) for pod in right)
    status: dict[str, Any] = {
        "currentNumberScheduled": len(right),
        "numberMisscheduled": len(there) - len(right),
        "desiredNumberScheduled": len(wanted),
        "numberReady": sum(is_ready(pod) for pod in right),
        "observedGeneration": daemon_set.metadata.generation or 0,
    }
    more = {
        "updatedNumberScheduled": sum(p.labels.get(HASH_LABEL) == current for p in right),
        "numberAvailable": available,
        "numberUnavailable": len(wanted) - available,
    }
    return {**status, **{field: number for field, number in more.items() if number}}
