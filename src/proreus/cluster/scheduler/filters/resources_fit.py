"""A node must have free what a pod requests, and room for one more pod."""

from __future__ import annotations

from collections.abc import Callable

from proreus.cluster.scheduler import resources
from proreus.cluster.scheduler.node import NodeState
from proreus.cluster.scheduler.pod import PodView


def node_filter(pod: PodView) -> Callable[[NodeState], str | None] | None:
    wanted = [(name, units) for name, units in pod.requests.items() if units > 0]

    def refuse(node: NodeState) -> str | None:
        has, taken = node.allocatable, node.requested
        if has.get(resources.PODS, 0) <= len(node.pods):
            return "Too many pods"
        for name, units in wanted:
            if units > has.get(name, 0) - taken.get(name, 0):
                return f"Insufficient {name}"
        return None

    return refuse
