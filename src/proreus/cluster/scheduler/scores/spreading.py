"""Prefer nodes with fewer pods of the same owner, so that one node's loss costs little."""

from __future__ import annotations

from collections.abc import Sequence

from proreus.cluster.scheduler.node import NodeState
from proreus.cluster.scheduler.pod import PodView
from proreus.cluster.scheduler.scores import normalize


def score(pod: PodView, nodes: Sequence[NodeState]) -> Sequence[float] | None:
    if not pod.owner_uid:
        return None
    return normalize.descending([float(node.pods_of(pod.owner_uid)) for node in nodes])
