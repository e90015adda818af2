"""Prefer nodes whose CPU and memory would be used to the same degree."""

from __future__ import annotations

from collections.abc import Callable

from proreus.cluster.scheduler import resources
from proreus.cluster.scheduler.node import NodeState
from proreus.cluster.scheduler.pod import PodView


def node_score(pod: PodView) -> Callable[[NodeState], float]:
    cpu = pod.nonzero_requests.get(resources.CPU, 0)
    memory = pod.nonzero_requests.get(resources.MEMORY, 0)
    return lambda node: (
        100
        - 50 * abs(node.share_used(resources.CPU, cpu) - node.share_used(resources.MEMORY, memory))
    )
