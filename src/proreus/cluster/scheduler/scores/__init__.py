"""Which of the nodes that fit is best: each score is 0 to 100 per node, summed by weight.

As a filter, a score is made for one pod and then called for each node. What it says of a node is
raw; it means something beside what it says of the others, so it is normalized over all of them.
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


@dataclass(frozen=True, slots=True)
class Weighted:
    """One score of the nodes themselves, for one pod."""

    weight: int
    of: NodeScore
    normalized: Callable[[Sequence[float]], Sequence[float] | None]


_SCORES = (
    (3, taints.node_score, normalize.descending),
    (2, node_affinity.node_score, normalize.ascending),
    (2, spreading.node_score, normalize.descending),
    (1, least_allocated.node_score, normalize.unchanged),
    (1, balanced_allocation.node_score, normalize.unchanged),
)
# These depend on where other pods are, on any node. None: all nodes are the same.
ClusterScore = Callable[[PodView, Sequence[NodeState], Sequence[NodeState]], Sequence[float] | None]
_CLUSTER_SCORES: tuple[tuple[int, ClusterScore], ...] = (
    (2, pod_affinity.score),
    (2, topology_spread.score),
)


def scores_for(pod: PodView) -> list[Weighted]:
    """The scores that concern this pod."""
    return [
        Weighted(weight, made, normalized)
        for weight, make, normalized in _SCORES
        if (made := make(pod)) is not None
    ]


def total(
    scores: Sequence[Weighted],
    raw: Sequence[Sequence[float]],
    pod: PodView,
    nodes: Sequence[NodeState],
    every: Sequence[NodeState],
) -> list[float]:
    """For each of ``nodes``, of which ``raw`` has what each score says; ``every`` are all there
    are."""
    made = [
        (score.weight, score.normalized(column))
        for score, column in zip(scores, zip(*raw, strict=True), strict=True)
    ]
    made += [(weight, score(pod, nodes, every)) for weight, score in _CLUSTER_SCORES]
    sums = [0.0] * len(nodes)
    for weight, values in made:
        if values is not None:
            sums = [so_far + weight * value for so_far, value in zip(sums, values, strict=True)]
    return sums
