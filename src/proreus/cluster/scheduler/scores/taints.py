"""Prefer nodes with fewer soft taints that the pod does not tolerate."""

from __future__ import annotations

from collections.abc import Sequence

from proreus.cluster.scheduler.filters.taints import untolerated
from proreus.cluster.scheduler.node import NodeState
from proreus.cluster.scheduler.pod import PodView
from proreus.cluster.scheduler.scores import normalize


def score(pod: PodView, nodes: Sequence[NodeState]) -> Sequence[float] | None:
    if not any(node.taints for node in nodes):
        return None
    soft = ("PreferNoSchedule",)
    return normalize.descending(
        [float(len(list(untolerated(node.taints, pod.tolerations, soft)))) for node in nodes]
    )
