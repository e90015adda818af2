"""A node must have free what a pod requests, and room for one more pod."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from proreus.cluster.scheduler import resources
from proreus.cluster.scheduler.node import NodeState
from proreus.cluster.scheduler.pod import PodView


def node_filter(pod: PodView) -> Callable[[NodeState], str | tuple[str, ...] | None] | None:
    wanted = [(name, units) for name, units in pod.requests.items() if units > 0]

    def refuse(node: NodeState) -> tuple[str, ...] | None:
        has, taken = node.allocatable, node.requested
        for name, units in wanted:
            if units > has.get(name, 0) - taken.get(name, 0):
                break
        else:
            if has.get(resources.PODS, 0) > len(node.pods):
                return None
        return tuple(_lacks(node, wanted))

    return refuse


def is_too_small(node: NodeState, pod: PodView) -> bool:
    """Whether the pod would not fit on the node if it were empty."""
    return any(units > node.allocatable.get(name, 0) for name, units in pod.requests.items())


def _lacks(node: NodeState, wanted: list[tuple[str, int]]) -> Iterator[str]:
    """Everything the node has too little of: each is a reason of its own."""
    if node.allocatable.get(resources.PODS, 0) <= len(node.pods):
        yield "Too many pods"
    for name, units in wanted:
        if units > node.allocatable.get(name, 0) - node.requested.get(name, 0):
            yield f"Insufficient {name}"
