"""Two pods cannot listen on the same port of one node."""

from __future__ import annotations

from collections.abc import Callable

from proreus.cluster.scheduler.node import NodeState
from proreus.cluster.scheduler.pod import PodView

_REASON = "node(s) didn't have free ports for the requested pod ports"


def node_filter(pod: PodView) -> Callable[[NodeState], str | None] | None:
    wanted = pod.host_ports
    if not wanted:
        return None

    def refuse(node: NodeState) -> str | None:
        taken = any(port.collides_with(used) for port in wanted for used in node.host_ports)
        return _REASON if taken else None

    return refuse
