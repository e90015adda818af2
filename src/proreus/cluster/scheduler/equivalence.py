"""Pods that no filter and no score of a single node can tell apart, and what was found for them.

The pods of one owner differ in name only, and placing one changes one node. So what the filters and
scores say of a node is kept by the class of the pod, and holds while the node's version does.
Invariant: ``signature`` covers everything that filters and scores of single nodes read of a pod;
what depends on other pods (affinity, topology spread) is worked out for each pod anew.
"""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass, field

from proreus.api.wire import json
from proreus.cluster.scheduler.filters import NodeFilter, Refusal, node_filter_for
from proreus.cluster.scheduler.node import NodeState
from proreus.cluster.scheduler.pod import PodView
from proreus.cluster.scheduler.scores import NodeScores, scores_for

_CLASSES_MAX = 32
_NO_SCORES: tuple[float, tuple[float, ...]] = (0.0, ())
_NODE_FIELDS = ("nodeSelector", "affinity", "tolerations")


@dataclass(frozen=True, slots=True)
class NodeFinding:
    """What is true of a node at this version, for pods of a class: why it is refused, or (None)
    what the scores say of it."""

    version: int
    refusal: Refusal | None
    scores: tuple[float, tuple[float, ...]]


@dataclass(frozen=True, slots=True)
class PodClass:
    """Memory: one finding per node that was looked at."""

    refuse: NodeFilter
    scores: NodeScores
    findings: dict[NodeState, NodeFinding] = field(default_factory=dict)

    def look_at(self, node: NodeState) -> NodeFinding:
        refusal = self.refuse(node)
        scores = self.scores.of(node) if refusal is None else _NO_SCORES
        found = self.findings[node] = NodeFinding(node.version, refusal, scores)
        return found


class PodClasses:
    """The classes that were used last."""

    def __init__(self) -> None:
        self._classes: OrderedDict[object, PodClass] = OrderedDict()

    def of(self, pod: PodView) -> PodClass:
        known = signature(pod)
        found = self._classes.get(known)
        if found is None:
            found = self._classes[known] = PodClass(node_filter_for(pod), scores_for(pod))
            if len(self._classes) > _CLASSES_MAX:
                self._classes.popitem(last=False)
        else:
            self._classes.move_to_end(known)
        return found


def signature(pod: PodView) -> object:
    return (
        pod.owner_uid,
        pod.node_name,
        tuple(pod.requests.items()),
        pod.host_ports,
        json.encode([pod.spec.get(name) for name in _NODE_FIELDS]),
    )
