"""Prefer nodes with fewer pods of the same owner, so that one node's loss costs little."""

from __future__ import annotations

from collections.abc import Callable

from proreus.cluster.scheduler.node import NodeState
from proreus.cluster.scheduler.pod import PodView


def node_score(pod: PodView) -> Callable[[NodeState], float] | None:
    owner = pod.owner_uid
    return (lambda node: float(node.pods_of(owner))) if owner else None
