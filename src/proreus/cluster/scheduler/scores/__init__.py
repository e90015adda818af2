"""Which of the nodes that fit is best: each score is 0 to 100 per node, summed by weight."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from proreus.cluster.scheduler.node import NodeState
from proreus.cluster.scheduler.pod import PodView
from proreus.cluster.scheduler.scores import (
    balanced_allocation,
    least_allocated,
    node_affinity,
    pod_affinity,
    spreading,
    taints,
    topology_spread,
)

Score = Callable[[PodView, Sequence[NodeState]], Sequence[float] | None]  # None: all the same

_WEIGHTED: tuple[tuple[int, Score], ...] = (
    (3, taints.score),
    (2, node_affinity.score),
    (2, spreading.score),
    (1, least_allocated.score),
    (1, balanced_allocation.score),
)
# These depend on where other pods are, on any node.
ClusterScore = Callable[[PodView, Sequence[NodeState], Sequence[NodeState]], Sequence[float] | None]
_WEIGHTED_CLUSTER: tuple[tuple[int, ClusterScore], ...] = (
    (2, pod_affinity.score),
    (2, topology_spread.score),
)


def total(pod: PodView, nodes: Sequence[NodeState], every: Sequence[NodeState]) -> list[float]:
    """For each of ``nodes``; ``every`` are all there are."""
    sums = [0.0] * len(nodes)
    made = [(weight, score(pod, nodes)) for weight, score in _WEIGHTED]
    made += [(weight, score(pod, nodes, every)) for weight, score in _WEIGHTED_CLUSTER]
    for weight, values in made:
        if values is not None:
            sums = [so_far + weight * value for so_far, value in zip(sums, values, strict=True)]
    return sums
