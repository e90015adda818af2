"""Prefer nodes with more left over after the pod is placed."""

from __future__ import annotations

from collections.abc import Sequence

from proreus.cluster.scheduler import resources
from proreus.cluster.scheduler.node import NodeState
from proreus.cluster.scheduler.pod import PodView

_COMPARED = (resources.CPU, resources.MEMORY)


def score(pod: PodView, nodes: Sequence[NodeState]) -> Sequence[float] | None:
    return [sum(_share_free(pod, node, name) for name in _COMPARED) / 2 for node in nodes]


def _share_free(pod: PodView, node: NodeState, name: str) -> float:
    has = node.allocatable.get(name, 0)
    used = node.supposed.get(name, 0) + pod.supposed_requests.get(name, 0)
    return max(0.0, (has - used) * 100 / has) if has else 0.0
