"""Prefer nodes that the pod's preferred affinity terms name, by the terms' weights."""

from __future__ import annotations

from collections.abc import Callable

from proreus.api.affinity import PREFERRED
from proreus.cluster.scheduler import node_terms
from proreus.cluster.scheduler.node import NodeState
from proreus.cluster.scheduler.pod import PodView


def node_score(pod: PodView) -> Callable[[NodeState], float] | None:
    affinity = (pod.spec.get("affinity") or {}).get("nodeAffinity") or {}
    preferred = [
        (term.get("weight") or 0, node_terms.match_term(term.get("preference") or {}))
        for term in affinity.get(PREFERRED) or ()
    ]
    if not preferred:
        return None
    return lambda node: float(sum(weight for weight, match in preferred if match(node)))
