"""Prefer nodes whose CPU and memory would be used to the same degree."""

from __future__ import annotations

from collections.abc import Sequence

from proreus.cluster.scheduler import resources
from proreus.cluster.scheduler.node import NodeState
from proreus.cluster.scheduler.pod import PodView


def score(pod: PodView, nodes: Sequence[NodeState]) -> Sequence[float] | None:
    return [
        100 * (1 - abs(_used(pod, node, resources.CPU) - _used(pod, node, resources.MEMORY)) / 2)
        for node in nodes
    ]


def _used(pod: PodView, node: NodeState, name: str) -> float:
    has = node.allocatable.get(name, 0)
    used = node.supposed.get(name, 0) + pod.supposed_requests.get(name, 0)
    return min(1.0, used / has) if has else 1.0
