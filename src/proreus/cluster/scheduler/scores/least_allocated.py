"""Prefer nodes with more left over after the pod is placed."""

from __future__ import annotations

from collections.abc import Sequence

from proreus.cluster.scheduler import resources
from proreus.cluster.scheduler.node import NodeState
from proreus.cluster.scheduler.pod import PodView


def score(pod: PodView, nodes: Sequence[NodeState]) -> Sequence[float] | None:
    cpu = pod.nonzero_requests.get(resources.CPU, 0)
    memory = pod.nonzero_requests.get(resources.MEMORY, 0)
    return [
        100 - 50 * (node.share_used(resources.CPU, cpu) + node.share_used(resources.MEMORY, memory))
        for node in nodes
    ]
