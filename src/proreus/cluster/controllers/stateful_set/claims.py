"""Who keeps the claims of a StatefulSet alive: ``persistentVolumeClaimRetentionPolicy``. Pure.

A claim that shall go with its set is owned by it, one that shall go with a pod that is scaled away
by that pod; the garbage collector does the rest. Others are owned by nobody and stay.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from proreus.api.frozen import thaw
from proreus.api.object import KubeObject
from proreus.cluster.controllers.ownership import is_deleting, reference_to

_KINDS = (("apps/v1", "StatefulSet"), ("v1", "Pod"))


def goes_when(stateful_set: KubeObject, event: str) -> bool:
    """``event``: whenDeleted or whenScaled."""
    policy = stateful_set.spec.persistentVolumeClaimRetentionPolicy or {}
    return bool(policy.get(event) == "Delete")


def references(
    stateful_set: KubeObject, pod: KubeObject, claim: KubeObject, *, is_condemned: bool
) -> list[dict[str, Any]]:
    """The owners a claim should have; those that are none of ours stay."""
    present: list[dict[str, Any]] = thaw(claim.metadata.ownerReferences or [])
    names = (stateful_set.name, pod.name)
    kept = [
        one
        for one in present
        if (one.get("apiVersion"), one.get("kind")) not in _KINDS or one.get("name") not in names
    ]
    if any(one.get("controller") for one in kept):
        return kept  # somebody else looks after it
    if goes_when(stateful_set, "whenScaled") and is_condemned:
        return [*kept, _reference(pod)]
    if goes_when(stateful_set, "whenDeleted"):
        return [*kept, reference_to(stateful_set)]
    return kept


def _reference(pod: KubeObject) -> dict[str, Any]:
    made = reference_to(pod)
    return {**made, "apiVersion": "v1", "kind": "Pod"}


def is_stale(claim: KubeObject | None, pod_name: str) -> bool:
    """It is about to go with the pod that had this name before: a new one must not take it."""
    if claim is None:
        return False
    return is_deleting(claim) or any(
        _is_pod(reference, pod_name) for reference in claim.metadata.ownerReferences or ()
    )


def _is_pod(reference: Mapping[str, Any], name: str) -> bool:
    return reference.get("kind") == "Pod" and reference.get("name") == name
