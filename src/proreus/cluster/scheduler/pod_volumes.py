"""What the claims of one pod demand of its node, and which volumes they get there. Pure.

A claim that is bound wants a node where its volume can be mounted. One whose binding waits for its
pod gets the best volume of the node, or a new one if its class has a provisioner that serves the
node. Everything else keeps the pod from being placed at all.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from proreus.api.json_types import Json
from proreus.cluster.scheduler import node_terms
from proreus.cluster.scheduler.node import NodeState
from proreus.cluster.scheduler.pod import PodView
from proreus.cluster.volumes.matching import best_match
from proreus.cluster.volumes.pod_claims import pod_claims
from proreus.cluster.volumes.views import StorageClass, Volume, VolumeClaim

NODE_CONFLICT = "node(s) didn't match PersistentVolume's node affinity"
NOTHING_TO_BIND = "node(s) didn't find available persistent volumes to bind"
VOLUME_MISSING = "node(s) unavailable due to one or more pvc(s) bound to non-existent pv(s)"
IN_USE = (
    "node has pod using PersistentVolumeClaim with the same name and ReadWriteOncePod access mode"
)
UNBOUND = "pod has unbound immediate PersistentVolumeClaims"


@dataclass(frozen=True, slots=True)
class DelayedClaim:
    """Waits for its pod. ``volumes``: what it might be bound to."""

    claim: VolumeClaim
    storage_class: StorageClass
    volumes: Sequence[Volume]


@dataclass(frozen=True, slots=True)
class VolumeChoice:
    """``bindings``: volumes by their claims' keys. ``provisioned``: keys of claims that get new
    ones."""

    bindings: dict[str, str]
    provisioned: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class PodVolumes:
    """``taken``: volumes that pods which were placed before are about to get. ``is_in_use``: a
    claim is for one pod, and another that was placed has it."""

    bound: tuple[Volume | None, ...]
    delayed: tuple[DelayedClaim, ...]
    taken: frozenset[str] = frozenset()
    is_in_use: bool = False

    def refuse(self, node: NodeState) -> str | None:
        if self.is_in_use:
            return IN_USE
        for volume in self.bound:
            if volume is None:
                return VOLUME_MISSING
            if not _can_mount(volume, node):
                return NODE_CONFLICT
        return None if self.choose(node) is not None else NOTHING_TO_BIND

    def choose(self, node: NodeState) -> VolumeChoice | None:
        """None: some claim gets nothing on this node."""
        bindings: dict[str, str] = {}
        provisioned: list[str] = []
        # The smallest first, so that it leaves the larger volumes to those that need them.
        for one in sorted(self.delayed, key=lambda one: one.claim.request):
            claim, selected = one.claim, one.claim.selected_node
            if selected and selected != node.name:
                return None
            taken = self.taken.union(bindings.values())
            found = None
            if not selected:
                found = best_match(
                    claim, one.volumes, fits_node=lambda v: _can_mount(v, node), taken=taken
                )
            if found is not None:
                bindings[claim.key] = found.name
            elif one.storage_class.can_provision and _serves(one.storage_class, node):
                provisioned.append(claim.key)
            else:
                return None
        return VolumeChoice(bindings, tuple(provisioned))


def has_other_user(pod: PodView, claim: VolumeClaim, nodes: Iterable[NodeState]) -> bool:
    """Whether a pod that was placed mounts a claim that is for one pod. Looks at all pods, for
    claims of that sort alone."""
    return "ReadWriteOncePod" in claim.modes and any(
        other.uid != pod.uid
        and other.namespace == claim.namespace
        and any(one.name == claim.name for one in pod_claims(other.name, other.spec.get("volumes")))
        for node in nodes
        for other in node.pods.values()
    )


def _can_mount(volume: Volume, node: NodeState) -> bool:
    return volume.node_terms is None or node_terms.any_term(volume.node_terms)(node)


def _serves(storage_class: StorageClass, node: NodeState) -> bool:
    terms = storage_class.topologies
    return not terms or any(_holds(term, node) for term in terms)


def _holds(term: Json, node: NodeState) -> bool:
    return all(
        node.labels.get(one.get("key")) in (one.get("values") or ())
        for one in term.get("matchLabelExpressions") or ()
    )
