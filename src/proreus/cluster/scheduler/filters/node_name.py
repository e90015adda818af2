"""A pod that names its node runs there or nowhere."""

from __future__ import annotations

from collections.abc import Callable

from proreus.cluster.scheduler.node import NodeState
from proreus.cluster.scheduler.pod import PodView


def node_filter(pod: PodView) -> Callable[[NodeState], str | None] | None:
    wanted = pod.node_name
    if not wanted:
        return None
    reason = "node(s) didn't match the requested node name"
    return lambda node: None if node.name == wanted else reason
