"""One scheduling decision: pod and nodes in, a node or the reasons why not out. Pure."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from proreus.api.selectors.errors import SelectorError
from proreus.cluster.scheduler import scores
from proreus.cluster.scheduler.equivalence import NodeFinding, PodClass, PodClasses
from proreus.cluster.scheduler.filters import Refusal, cluster_filter_for, filter_for
from proreus.cluster.scheduler.node import NodeState
from proreus.cluster.scheduler.pod import PodView

_EXAMINE_ALL_BELOW = 100
_SHARE_MIN = 5


@dataclass(frozen=True, slots=True)
class Placed:
    node: str


@dataclass(frozen=True, slots=True)
class Unschedulable:
    """``message`` is what the FailedScheduling event says. ``refusals`` are by node.
    ``is_hopeless``: it fits nowhere, whatever the nodes are."""

    message: str
    refusals: Mapping[str, Refusal] = field(default_factory=dict, compare=False)
    is_hopeless: bool = False


Decision = Placed | Unschedulable


class Cycle:
    """Looks at nodes in turns: with many nodes, each pod starts where the last one stopped. Cost:
    0.3 µs per node that has not changed since a pod of the same class was placed, else 5 µs."""

    def __init__(self, rng: random.Random) -> None:
        self._rng = rng
        self._next = 0
        self._classes = PodClasses()

    def decide(self, pod: PodView, nodes: Sequence[NodeState]) -> Decision:
        refusals: dict[str, Refusal] = {}
        try:
            known = self._classes.of(pod)
            feasible = self._feasible(pod, known, nodes, refusals)
        except SelectorError as unreadable:  # a server that checks less than ours let it in
            return Unschedulable(str(unreadable))
        if not feasible:
            return Unschedulable(explain(len(nodes), refusals.values()), refusals)
        fitting = list(feasible)
        if len(fitting) == 1:
            return Placed(fitting[0].name)
        found = [finding.scores for finding in feasible.values()]
        totals = scores.total(known.scores, found, pod, fitting, nodes)
        best = max(totals)
        ties = [node for node, score in zip(fitting, totals, strict=True) if score == best]
        return Placed(self._rng.choice(ties).name)

    def _feasible(
        self,
        pod: PodView,
        known: PodClass,
        nodes: Sequence[NodeState],
        refusals: dict[str, Refusal],
    ) -> dict[NodeState, NodeFinding]:
        refuse = cluster_filter_for(pod, nodes)
        wanted, findings = nodes_to_find(len(nodes)), known.findings
        start = self._next % len(nodes) if nodes else 0
        feasible: dict[NodeState, NodeFinding] = {}
        get = findings.get
        for looked_at, node in enumerate([*nodes[start:], *nodes[:start]], start + 1):
            found = get(node)
            if found is None or found.version != node.version:
                found = known.look_at(node)
            reason = found.refusal
            if reason is None and refuse is not None:
                reason = refuse(node)
            if reason is None and node.nominated:
                reason = _refuse_with_nominated(pod, node, nodes)
            if reason is not None:
                refusals[node.name] = reason
                continue
            feasible[node] = found
            if len(feasible) >= wanted:
                self._next = looked_at % len(nodes)
                break
        return feasible


def nodes_to_find(count: int) -> int:
    """How many feasible nodes are enough: all of a small cluster, a shrinking share of a large."""
    if count < _EXAMINE_ALL_BELOW:
        return count
    share = max(_SHARE_MIN, 50 - count // 125)
    return max(_EXAMINE_ALL_BELOW, count * share // 100)


def _refuse_with_nominated(
    pod: PodView, node: NodeState, nodes: Sequence[NodeState]
) -> Refusal | None:
    """Whether the pod fits beside nominated pods of the same or higher priority."""
    expected = [
        other
        for uid, other in node.nominated.items()
        if uid != pod.uid and other.priority >= pod.priority
    ]
    if not expected:
        return None
    imagined = node.with_pods([*node.pods.values(), *expected])
    return filter_for(pod, replaced(nodes, imagined))(imagined)


def replaced(nodes: Sequence[NodeState], imagined: NodeState) -> list[NodeState]:
    return [imagined if node.name == imagined.name else node for node in nodes]


def hopeless(nodes: Sequence[NodeState], why: str) -> Unschedulable:
    """No node can help this pod."""
    text = f"0/{len(nodes)} nodes are available: {why}." if nodes else explain(0, ())
    return Unschedulable(text, is_hopeless=bool(nodes))


def explain(count: int, refusals: Iterable[Refusal]) -> str:
    """As kube-scheduler words it: how many nodes for which reason."""
    if not count:
        return "no nodes available to schedule pods"
    counted: Counter[str] = Counter()
    for refusal in refusals:
        counted.update((refusal,) if isinstance(refusal, str) else refusal)
    reasons = ", ".join(sorted(f"{n} {reason}" for reason, n in counted.items()))
    return f"0/{count} nodes are available: {reasons}."
