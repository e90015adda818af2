"""Whether a pod can run on a node at all. All filters must pass; the first refusal is the reason.

A filter is made for one pod, so that what depends only on the pod is worked out once, and is then
called for each node. Order: cheap and likely to refuse first.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from proreus.cluster.scheduler.filters import (
    node_affinity,
    node_name,
    pod_affinity,
    ports,
    resources_fit,
    taints,
    topology_spread,
    unschedulable,
    volume_binding,
)
from proreus.cluster.scheduler.node import NodeState
from proreus.cluster.scheduler.pod import PodView

Refusal = str | tuple[str, ...]  # the reason, or all of them
NodeFilter = Callable[[NodeState], Refusal | None]  # None: it fits
# Refusals that other pods' leaving cannot change.
_UNRESOLVABLE = (
    "node(s) didn't match the requested node name",
    "node(s) were unschedulable",
    "node(s) had untolerated taint(s)",
    "node(s) didn't match Pod's node affinity/selector",
    "node(s) didn't match pod affinity rules",
    "node(s) didn't match pod topology spread constraints (missing required label)",
    "node(s) didn't match PersistentVolume's node affinity",
    "node(s) didn't find available persistent volumes to bind",
    "node(s) unavailable due to one or more pvc(s) bound to non-existent pv(s)",
)

_FILTERS: tuple[Callable[[PodView], NodeFilter | None], ...] = (
    node_name.node_filter,
    unschedulable.node_filter,
    taints.node_filter,
    node_affinity.node_filter,
    ports.node_filter,
    resources_fit.node_filter,
)
# These depend on where other pods are, or on what their volumes are.
_CLUSTER_FILTERS: tuple[Callable[[PodView, Sequence[NodeState]], NodeFilter | None], ...] = (
    topology_spread.node_filter,
    pod_affinity.node_filter,
    volume_binding.node_filter,
)


def filter_for(pod: PodView, nodes: Sequence[NodeState]) -> NodeFilter:
    """All filters that concern this pod as one."""
    return _first_refusal([*_node_filters(pod), *_cluster_filters(pod, nodes)])


def node_filter_for(pod: PodView) -> NodeFilter:
    """Those as one that look at nothing but the node."""
    return _first_refusal(_node_filters(pod))


def cluster_filter_for(pod: PodView, nodes: Sequence[NodeState]) -> NodeFilter | None:
    """Those as one that depend on where other pods are; None if none concerns this pod."""
    filters = _cluster_filters(pod, nodes)
    return _first_refusal(filters) if filters else None


def _node_filters(pod: PodView) -> list[NodeFilter]:
    return [made for make in _FILTERS if (made := make(pod)) is not None]


def _cluster_filters(pod: PodView, nodes: Sequence[NodeState]) -> list[NodeFilter]:
    return [made for make in _CLUSTER_FILTERS if (made := make(pod, nodes)) is not None]


def _first_refusal(filters: Sequence[NodeFilter]) -> NodeFilter:
    def refuse(node: NodeState) -> Refusal | None:
        for node_filter in filters:
            if (reason := node_filter(node)) is not None:
                return reason
        return None

    return refuse


def is_unresolvable(refusal: Refusal, pod: PodView, node: NodeState) -> bool:
    """Whether the node stays refused whichever of its pods leave."""
    if isinstance(refusal, tuple):  # of resources
        return resources_fit.is_too_small(node, pod)
    return refusal.startswith(_UNRESOLVABLE)
