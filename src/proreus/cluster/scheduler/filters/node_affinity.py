"""A pod that selects nodes by label runs only on those."""

from __future__ import annotations

from collections.abc import Callable

from proreus.api.affinity import REQUIRED
from proreus.cluster.scheduler import node_terms
from proreus.cluster.scheduler.node import NodeState
from proreus.cluster.scheduler.pod import PodView

_REASON = "node(s) didn't match Pod's node affinity/selector"


def node_filter(pod: PodView) -> Callable[[NodeState], str | None] | None:
    selector = dict(pod.spec.get("nodeSelector") or {})
    affinity = (pod.spec.get("affinity") or {}).get("nodeAffinity") or {}
    required = affinity.get(REQUIRED)
    if not selector and required is None:
        return None
    allowed = (
        node_terms.any_term(required.get("nodeSelectorTerms") or ()) if required else lambda _: True
    )

    def refuse(node: NodeState) -> str | None:
        fits = selector.items() <= node.labels.items() and allowed(node)
        return None if fits else _REASON

    return refuse
