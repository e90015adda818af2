"""Which of the nodes that fit is best: each score is 0 to 100 per node, summed by weight.

As a filter, a score is made for one pod and then called for each node. What it says of a node is
absolute, or it means something only beside what it says of the others: then it is normalized over
all of them, for each decision anew.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from proreus.cluster.scheduler.node import NodeState
from proreus.cluster.scheduler.pod import PodView
from proreus.cluster.scheduler.scores import (
    balanced_allocation,
    least_allocated,
    node_affinity,
    normalize,
    pod_affinity,
    spreading,
    taints,
    topology_spread,
)

NodeScore = Callable[[NodeState], float]


Normalize = Callable[[Sequence[float]], Sequence[float] | None]


@dataclass(frozen=True, slots=True)
class Relative:
    weight: int
    of: NodeScore
    normalized: Normalize


@dataclass(frozen=True, slots=True)
class NodeScores:
    """The scores of the nodes themselves that concern one pod."""

    absolute: Sequence[tuple[int, NodeScore]]
    relative: Sequence[Relative]

    def of(self, node: NodeState) -> tuple[float, tuple[float, ...]]:
        """The sum of the absolute ones, and what each relative one says."""
        fixed = sum([weight * score(node) for weight, score in self.absolute])
        return fixed, tuple([score.of(node) for score in self.relative])


_ABSOLUTE = (
    (1, least_allocated.node_score),
    (1, balanced_allocation.node_score),
)
_RELATIVE = (
    (3, taints.node_score, normalize.descending),
    (2, node_affinity.node_score, normalize.ascending),
    (2, spreading.node_score, normalize.descending),
)
# These depend on where other pods are, on any node. None: all nodes are the same.
ClusterScore = Callable[[PodView, Sequence[NodeState], Sequence[NodeState]], Sequence[float] | None]
_CLUSTER_SCORES: tuple[tuple[int, ClusterScore], ...] = (
    (2, pod_affinity.score),
    (2, topology_spread.score),
)


def scores_for(pod: PodView) -> NodeScores:
    return NodeScores(
        [(weight, make(pod)) for weight, make in _ABSOLUTE],
        [
            Relative(weight, made, normalized)
            for weight, make, normalized in _RELATIVE
            if (made := make(pod)) is not None
        ],
    )


def total(
    scores: NodeScores,
    found: Sequence[tuple[float, tuple[float, ...]]],
    pod: PodView,
    nodes: Sequence[NodeState],
    every: Sequence[NodeState],
) -> Sequence[float]:
    """For each of ``nodes``, of which ``scores`` have ``found`` this; ``every`` are all."""
    fixed, raw = zip(*found, strict=True)
    made = [
        (score.weight, score.normalized(column))
        for score, column in zip(scores.relative, zip(*raw, strict=True), strict=True)
    ]
    made += [(weight, score(pod, nodes, every)) for weight, score in _CLUSTER_SCORES]
    sums: Sequence[float] = fixed
    for weight, values in made:
        if values is not None:
            sums = [so_far + weight * value for so_far, value in zip(sums, values, strict=True)]
    return sums
