"""Prefer nodes with fewer soft taints that the pod does not tolerate."""

from __future__ import annotations

from collections.abc import Callable

from proreus.cluster.scheduler.filters.taints import untolerated
from proreus.cluster.scheduler.node import NodeState
from proreus.cluster.scheduler.pod import PodView

_SOFT = ("PreferNoSchedule",)


def node_score(pod: PodView) -> Callable[[NodeState], float] | None:
    tolerations = pod.tolerations
    return lambda node: (
        float(len(list(untolerated(node.taints, tolerations, _SOFT)))) if node.taints else 0.0
    )
