"""Pods that must be spread over zones, or nodes, go where that keeps them even.

Only ``DoNotSchedule`` constraints refuse. Domains are counted over the nodes that the pod's own
node affinity allows. Cost: one look at every pod, for pods that have constraints.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from proreus.api.json_types import Json
from proreus.api.selectors.labels import LabelSelector
from proreus.cluster.scheduler.filters import node_affinity
from proreus.cluster.scheduler.node import NodeState
from proreus.cluster.scheduler.pod import PodView

_REASON = "node(s) didn't match pod topology spread constraints"
_Refuse = Callable[[NodeState], str | None]


def node_filter(pod: PodView, nodes: Sequence[NodeState]) -> _Refuse | None:
    checks = [
        _check(pod, constraint, nodes)
        for constraint in pod.spec.get("topologySpreadConstraints") or ()
        if constraint.get("whenUnsatisfiable") != "ScheduleAnyway"
    ]
    if not checks:
        return None
    return lambda node: next(filter(None, (check(node) for check in checks)), None)


def _check(pod: PodView, constraint: Json, nodes: Sequence[NodeState]) -> _Refuse:
    key, skew_max = constraint.get("topologyKey") or "", constraint.get("maxSkew") or 1
    matches = matcher(pod, constraint)
    excludes = node_affinity.node_filter(pod)
    counts: dict[str, int] = {}
    for node in nodes:
        domain = node.labels.get(key)
        if domain is not None and (excludes is None or excludes(node) is None):
            here = sum(matches(other) for other in node.pods.values())
            counts[domain] = counts.get(domain, 0) + here
    lowest = min(counts.values(), default=0)
    if len(counts) < (constraint.get("minDomains") or 1):
        lowest = 0
    own = 1 if matches(pod) else 0

    def refuse(node: NodeState) -> str | None:
        domain = node.labels.get(key)
        if domain is None:
            return f"{_REASON} (missing required label)"
        return _REASON if counts.get(domain, 0) + own - lowest > skew_max else None

    return refuse


def matcher(pod: PodView, constraint: Json) -> Callable[[PodView], bool]:
    selected = constraint.get("labelSelector")
    if selected is None:
        return lambda _: False
    selector, namespace = LabelSelector.from_object(selected), pod.namespace
    # The pod's own values of these keys narrow the selection, as a revision's hash does.
    keys = [key for key in constraint.get("matchLabelKeys") or () if key in pod.labels]
    own = [(key, pod.labels[key]) for key in keys]
    return lambda other: (
        other.namespace == namespace
        and selector.matches(other.labels)
        and all(other.labels.get(key) == value for key, value in own)
    )
