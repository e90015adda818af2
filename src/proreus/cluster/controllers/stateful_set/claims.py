"""Owner references of a StatefulSet's claims: ``persistentVolumeClaimRetentionPolicy``. Pure.

A claim that shall go with its set is owned by it, one that shall go with a pod that is scaled away
by that pod; the garbage collector does the rest. Others have no owner and stay.
"""

from __future__ import annotations

from proreus.api.frozen import thaw
from proreus.api.json_types import Json, JsonObject
from proreus.api.object import KubeObject
from proreus.client.ownership import controller_reference
from proreus.cluster.pod_status import is_deleting

_KINDS = (("apps/v1", "StatefulSet"), ("v1", "Pod"))


def is_deleted_when(stateful_set: KubeObject, event: str) -> bool:
    """``event``: whenDeleted or whenScaled."""
    policy = stateful_set.spec.persistentVolumeClaimRetentionPolicy or {}
    return bool(policy.get(event) == "Delete")


def references(
    stateful_set: KubeObject, pod: KubeObject, claim: KubeObject, *, is_condemned: bool
) -> list[JsonObject]:
    """The owners a claim should have; those that are none of ours stay."""
    present: list[JsonObject] = thaw(claim.metadata.ownerReferences or [])
    names = (stateful_set.name, pod.name)
    kept = [
        one
        for one in present
        if (one.get("apiVersion"), one.get("kind")) not in _KINDS or one.get("name") not in names
    ]
    if any(one.get("controller") for one in kept):
        return kept  # another controller owns it
    if is_deleted_when(stateful_set, "whenScaled") and is_condemned:
        return [*kept, _reference(pod)]
    if is_deleted_when(stateful_set, "whenDeleted"):
        return [*kept, controller_reference(stateful_set)]
    return kept


def _reference(pod: KubeObject) -> JsonObject:
    made = controller_reference(pod)
    return {**made, "apiVersion": "v1", "kind": "Pod"}


def is_stale(claim: KubeObject | None, pod_name: str) -> bool:
    """Whether the claim is deleted with the former pod of this name: a new pod must not use it."""
    if claim is None:
        return False
    return is_deleting(claim) or any(
        _is_pod(reference, pod_name) for reference in claim.metadata.ownerReferences or ()
    )


def _is_pod(reference: Json, name: str) -> bool:
    return reference.get("kind") == "Pod" and reference.get("name") == name
