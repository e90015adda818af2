"""A pod runs where the volumes of its claims are, or can be made."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from proreus.cluster.scheduler.node import NodeState
from proreus.cluster.scheduler.pod import PodView


def node_filter(
    pod: PodView, nodes: Sequence[NodeState]
) -> Callable[[NodeState], str | None] | None:
    return pod.volumes.refuse if pod.volumes is not None else None
