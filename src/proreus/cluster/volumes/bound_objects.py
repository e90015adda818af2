"""A claim and its volume as they are once they are bound to each other. Pure.

Each function returns the object with what was missing, or None if nothing was: all writes of a
binding may be repeated, in this order, after any of them failed.
"""

from __future__ import annotations

from proreus.api.json_types import JsonObject
from proreus.api.object import KubeObject
from proreus.cluster.volumes.storage_annotations import BIND_COMPLETED, BOUND_BY_CONTROLLER, YES


def bound_volume(volume: KubeObject, claim: KubeObject) -> JsonObject | None:
    content = volume.to_dict()
    spec, before = content["spec"], content["spec"].get("claimRef")
    if before is not None and before.get("uid") == claim.uid:
        return None
    if before is None:
        _annotate(content, BOUND_BY_CONTROLLER)
    spec["claimRef"] = claim_reference(claim)
    return content


def claim_reference(claim: KubeObject) -> JsonObject:
    return {
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "name": claim.name,
        "namespace": claim.namespace,
        "uid": claim.uid,
        "resourceVersion": claim.resource_version,
    }


def bound_claim(claim: KubeObject, volume: str) -> JsonObject | None:
    content = claim.to_dict()
    is_named = content["spec"].get("volumeName") == volume
    if is_named and BIND_COMPLETED in claim.annotations:
        return None
    if not is_named:
        content["spec"]["volumeName"] = volume
        _annotate(content, BOUND_BY_CONTROLLER)
    _annotate(content, BIND_COMPLETED)
    return content


def bound_claim_status(claim: KubeObject, volume: KubeObject) -> JsonObject:
    """The capacity is the volume's at first; later it follows when that was expanded."""
    status: JsonObject = dict(claim.to_dict().get("status") or {})
    spec = volume.to_dict()["spec"]
    if status.get("phase") != "Bound":
        status["capacity"] = spec.get("capacity") or {}
    status |= {"phase": "Bound", "accessModes": spec.get("accessModes") or []}
    if attributes := spec.get("volumeAttributesClassName"):
        status["currentVolumeAttributesClassName"] = attributes
    return status


def claim_status(claim: KubeObject, phase: str) -> JsonObject:
    """Of a claim that is not bound: it has no capacity."""
    status: JsonObject = dict(claim.to_dict().get("status") or {})
    status.pop("capacity", None)
    status.pop("accessModes", None)
    return {**status, "phase": phase}


def unbound_volume(volume: KubeObject) -> JsonObject:
    """As before its binding: what a user reserved stays reserved, by name."""
    content = volume.to_dict()
    spec, annotations = content["spec"], content["metadata"].get("annotations") or {}
    if annotations.pop(BOUND_BY_CONTROLLER, None) is not None:
        spec.pop("claimRef", None)
    elif spec.get("claimRef"):
        spec["claimRef"].pop("uid", None)
        spec["claimRef"].pop("resourceVersion", None)
    return content


def _annotate(content: JsonObject, name: str) -> None:
    content["metadata"].setdefault("annotations", {})[name] = YES
