"""What a node may do to pods: report on its own, delete and evict them, and mirror its static ones.

Each check says why not; "": it may.
"""

from __future__ import annotations

from collections.abc import Iterator

from proreus.api.go_text import quoted
from proreus.api.json_types import Json
from proreus.server.authz.node.cached_objects import CachedObjects
from proreus.server.authz.node.references import (
    CONFIG_MAP,
    MIRROR,
    SECRET,
    SERVICE_ACCOUNT,
    all_references,
)
from proreus.server.registry.admission import CREATE, DELETE, UPDATE, Attributes

# Volumes and sources of projected ones that need another object, by what that is called.
_VOLUMES = {
    "csi": "csidrivers (via CSI volumes)",
    "glusterfs": "endpoints (via glusterFS volumes)",
    "persistentVolumeClaim": "persistentvolumeclaims",
    "ephemeral": "persistentvolumeclaims (via ephemeral volumes)",
    "azureFile": "secrets (via azureFile volumes)",
}
_PROJECTED = {
    "serviceAccountToken": "serviceaccounts (via projected volumes)",
    "clusterTrustBundle": "clustertrustbundles",
    "podCertificate": "podcertificates",
}


class RestrictedPods:
    def __init__(self, objects: CachedObjects) -> None:
        self._objects = objects

    def check(self, node: str, attributes: Attributes) -> str:
        """Raises NotFound."""
        match attributes.subresource:
            case "":
                return self._pod(node, attributes)
            case "status":
                return _status(node, attributes)
            case "eviction":
                return self._eviction(node, attributes)
            case other:
                return (
                    f"unexpected pod subresource {quoted(other)}, only 'status' and 'eviction' "
                    "are allowed"
                )

    def _pod(self, node: str, attributes: Attributes) -> str:
        if attributes.operation == CREATE:
            return self._creation(node, attributes.obj or {})
        if attributes.operation == DELETE:
            if node_of(attributes.old) == node:
                return ""
            return f"node {quoted(node)} can only delete pods with spec.nodeName set to itself"
        return (
            f"unexpected operation {quoted(attributes.operation)}, node {quoted(node)} can only "
            "create and delete mirror pods"
        )

    def _creation(self, node: str, pod: Json) -> str:
        can_only = f"node {quoted(node)} can only create"
        if MIRROR not in (pod["metadata"].get("annotations") or {}):
            return f"pod does not have {quoted(MIRROR)} annotation, {can_only} mirror pods"
        if why := mirror_faults(pod):
            return why
        if node_of(pod) != node:
            return f"{can_only} pods with spec.nodeName set to itself"
        if why := self._owner_fault(node, pod, can_only):
            return why
        if referenced := next(referenced_kinds(pod), ""):
            return f"node {quoted(node)} can not create pods that reference {referenced}"
        return ""

    def _owner_fault(self, node: str, pod: Json, can_only: str) -> str:
        owners = pod["metadata"].get("ownerReferences") or []
        if len(owners) > 1:
            return f"{can_only} pods with a single owner reference set to itself"
        owner = owners[0] if owners else {}
        named = (owner.get("apiVersion"), owner.get("kind"), owner.get("name"))
        if named != ("v1", "Node", node):
            return f"{can_only} pods with an owner reference set to itself"
        if not owner.get("controller"):
            return f"{can_only} pods with a controller owner reference set to itself"
        if owner.get("blockOwnerDeletion"):
            return f"node {quoted(node)} must not set blockOwnerDeletion on an owner reference"
        uid = self._objects.node(node)["metadata"].get("uid")
        if owner.get("uid") != uid:
            return f"node {node} UID mismatch: expected {owner.get('uid')} got {uid}"
        return ""

    def _eviction(self, node: str, attributes: Attributes) -> str:
        if attributes.operation != CREATE:
            return f"unexpected operation {attributes.operation}"
        if node_of(self._objects.pod(attributes.namespace, attributes.name)) == node:
            return ""
        return f"node {node} can only evict pods with spec.nodeName set to itself"


def _status(node: str, attributes: Attributes) -> str:
    new, old = attributes.obj or {}, attributes.old or {}
    if attributes.operation != UPDATE:
        return f"unexpected operation {quoted(attributes.operation)}"
    if node_of(old) != node:
        return (
            f"node {quoted(node)} can only update pod status for pods with spec.nodeName set to "
            "itself"
        )
    if _labels(new) != _labels(old):
        return f"node {quoted(node)} cannot update labels through pod status"
    if _claim_statuses(new) != _claim_statuses(old):
        return f"node {quoted(node)} cannot update resource claim statues"
    if _extended_claim(new) != _extended_claim(old):
        return f"node {quoted(node)} cannot update extended resource claim status"
    return ""


def mirror_faults(pod: Json) -> str:
    """What no mirror pod may refer to, whoever creates it."""
    spec = pod.get("spec") or {}
    if spec.get("serviceAccountName"):
        return "a mirror pod may not reference service accounts"
    if any(reference.kind == SECRET for reference in all_references("", pod)):
        return "a mirror pod may not reference secrets"
    for volume in spec.get("volumes") or ():
        for source in (volume.get("projected") or {}).get("sources") or ():
            if source.get("serviceAccountToken") is not None:
                return "a mirror pod may not use ServiceAccountToken volume projections"
    return ""


def referenced_kinds(pod: Json) -> Iterator[str]:
    """What a pod refers to in the API, in the order Kubernetes looks for it."""
    spec = pod.get("spec") or {}
    kinds = {reference.kind for reference in all_references("", pod)}
    yield from (f"{kind}s" for kind in (SERVICE_ACCOUNT, SECRET, CONFIG_MAP) if kind in kinds)
    if spec.get("resourceClaims"):
        yield "resourceclaims"
    for volume in spec.get("volumes") or ():
        yield from (text for field, text in _VOLUMES.items() if volume.get(field) is not None)
        for source in (volume.get("projected") or {}).get("sources") or ():
            yield from (text for field, text in _PROJECTED.items() if source.get(field) is not None)


def node_of(pod: Json | None) -> str:
    return str(((pod or {}).get("spec") or {}).get("nodeName") or "")


def _labels(obj: Json) -> Json:
    return (obj.get("metadata") or {}).get("labels") or {}


def _claim_statuses(pod: Json) -> list[tuple[object, object]]:
    entries = (pod.get("status") or {}).get("resourceClaimStatuses") or ()
    return [(entry.get("name"), entry.get("resourceClaimName")) for entry in entries]


def _extended_claim(pod: Json) -> object:
    return (pod.get("status") or {}).get("extendedResourceClaimStatus")
