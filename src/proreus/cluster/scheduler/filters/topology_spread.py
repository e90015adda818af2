"""Pods that must be spread over zones, or nodes, go where that keeps them even.

Only ``DoNotSchedule`` constraints refuse. Domains are counted over the nodes that have all
topology keys and that the pod's own node affinity allows, unless a constraint's
``nodeAffinityPolicy`` ignores it; with a ``nodeTaintsPolicy`` that honors taints, also that these
let it in. Cost: one look at every pod, for pods that have constraints.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from proreus.api.json_types import Json
from proreus.api.selectors.labels import LabelSelector
from proreus.cluster.scheduler.filters import node_affinity, taints
from proreus.cluster.scheduler.node import NodeState
from proreus.cluster.scheduler.pod import PodView

_REASON = "node(s) didn't match pod topology spread constraints"
_Refuse = Callable[[NodeState], str | None]


def node_filter(pod: PodView, nodes: Sequence[NodeState]) -> _Refuse | None:
    constraints = [
        constraint
        for constraint in pod.spec.get("topologySpreadConstraints") or ()
        if constraint.get("whenUnsatisfiable") != "ScheduleAnyway"
    ]
    if not constraints:
        return None
    keys = {constraint.get("topologyKey") or "" for constraint in constraints}
    labelled = [node for node in nodes if keys <= node.labels.keys()]
    checks = [_check(pod, constraint, labelled) for constraint in constraints]
    return lambda node: next(filter(None, (check(node) for check in checks)), None)


def _check(pod: PodView, constraint: Json, nodes: Sequence[NodeState]) -> _Refuse:
    key, skew_max = constraint.get("topologyKey") or "", constraint.get("maxSkew") or 1
    matches = matcher(pod, constraint)
    includes = includer(pod, constraint)
    counts: dict[str, int] = {}
    for node in nodes:
        if includes(node):
            domain, here = node.labels[key], count_on(node, matches)
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


def includer(pod: PodView, constraint: Json) -> Callable[[NodeState], bool]:
    """Whether a node counts for a constraint."""
    ignores_affinity = constraint.get("nodeAffinityPolicy") == "Ignore"
    excludes = None if ignores_affinity else node_affinity.node_filter(pod)
    honors_taints = constraint.get("nodeTaintsPolicy") == "Honor"
    tolerations = pod.tolerations

    def includes(node: NodeState) -> bool:
        if excludes is not None and excludes(node) is not None:
            return False
        return not honors_taints or not taints.is_kept_away(node, tolerations)

    return includes


def count_on(node: NodeState, matches: Callable[[PodView], bool]) -> int:
    """Pods that are on their way out make room already."""
    return sum(matches(other) and not other.is_deleting for other in node.pods.values())


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
