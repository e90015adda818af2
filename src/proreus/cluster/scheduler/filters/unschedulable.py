"""A cordoned node takes only pods that tolerate it."""

from __future__ import annotations

from collections.abc import Callable

from proreus.cluster.scheduler.filters.taints import tolerates
from proreus.cluster.scheduler.node import NodeState
from proreus.cluster.scheduler.pod import PodView

_TAINT = {"key": "node.kubernetes.io/unschedulable", "effect": "NoSchedule"}


def node_filter(pod: PodView) -> Callable[[NodeState], str | None] | None:
    if tolerates(pod.tolerations, _TAINT):
        return None
    return lambda node: "node(s) were unschedulable" if node.is_unschedulable else None
