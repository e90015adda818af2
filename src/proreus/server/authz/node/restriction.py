"""What a node writes is its own: its Node, Lease, CSINode and ResourceSlices, the pods that are
bound to it, and tokens and certificates for these (Kubernetes: the admission plugin
NodeRestriction).

Authorizers know only names; here the objects are seen. It comes with the authorizer ``Node`` and
binds nodes that other authorizers let do more, members of ``system:masters`` too.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Mapping

from proreus.api.go_text import quoted
from proreus.api.json_types import Json
from proreus.server.authz.authorizer import Authorization
from proreus.server.authz.node.authorizer import NODE_PREFIX, NODES
from proreus.server.authz.node.cached_objects import CachedObjects
from proreus.server.authz.node.restricted_certificates import (
    RestrictedPodCertificates,
    check_signing_request,
)
from proreus.server.authz.node.restricted_pods import RestrictedPods, node_of
from proreus.server.authz.node.restricted_tokens import RestrictedTokens
from proreus.server.registry.admission import CONNECT, CREATE, DELETE, UPDATE, Attributes
from proreus.server.registry.collections import Collections

_KUBELET_LABELS = frozenset(
    {
        "kubernetes.io/hostname", "kubernetes.io/os", "kubernetes.io/arch",
        "beta.kubernetes.io/os", "beta.kubernetes.io/arch", "beta.kubernetes.io/instance-type",
        "node.kubernetes.io/instance-type", "topology.kubernetes.io/zone",
        "topology.kubernetes.io/region", "failure-domain.beta.kubernetes.io/zone",
        "failure-domain.beta.kubernetes.io/region",
    }
)  # fmt: skip
_KUBELET_DOMAINS = ("kubelet.kubernetes.io", "node.kubernetes.io")
_KUBERNETES_DOMAINS = ("kubernetes.io", "k8s.io")
_RESTRICTED = ("node-restriction.kubernetes.io",)
_CLAIM_STATUS = frozenset(
    {"capacity", "conditions", "allocatedResources", "allocatedResourceStatuses",
     "modifyVolumeStatus", "currentVolumeAttributesClassName"}
)  # fmt: skip
# Says why not; "": it may.
_Check = Callable[[str, Attributes], str | Awaitable[str]]


class NodeRestriction:
    def __init__(self, collections: Collections, authorization: Authorization) -> None:
        objects = CachedObjects(collections)
        is_allowed = authorization.allows
        self._checks: Mapping[tuple[str, str], _Check] = {
            ("", "nodes"): _node,
            ("", "pods"): RestrictedPods(objects).check,
            ("", "persistentvolumeclaims"): _claim,
            ("", "serviceaccounts"): RestrictedTokens(objects, is_allowed).check,
            ("coordination.k8s.io", "leases"): _lease,
            ("storage.k8s.io", "csinodes"): _csi_node,
            ("resource.k8s.io", "resourceslices"): _slice,
            ("certificates.k8s.io", "certificatesigningrequests"): check_signing_request,
            ("certificates.k8s.io", "podcertificaterequests"): RestrictedPodCertificates(
                objects, is_allowed
            ).check,
        }

    def admit(self, attributes: Attributes) -> Awaitable[None] | None:
        """Raises Forbidden, NotFound, PlainError."""
        user = attributes.user
        if NODES not in user.groups or not user.name.startswith(NODE_PREFIX):
            return None
        if attributes.operation == CONNECT:
            return None
        resource = attributes.resource
        node = user.name.removeprefix(NODE_PREFIX)
        if not node:
            _refuse(attributes, f"could not determine node from user {quoted(user.name)}")
        check = self._checks.get((resource.group, resource.plural))
        if check is None:
            return None
        why = check(node, attributes)
        if not isinstance(why, str):
            return _refuse_later(attributes, why)
        _refuse(attributes, why)
        return None


def _refuse(attributes: Attributes, why: str) -> None:
    if why:
        raise attributes.forbidden(why)


async def _refuse_later(attributes: Attributes, why: Awaitable[str]) -> None:
    _refuse(attributes, await why)


def _node(node: str, attributes: Attributes) -> str:
    new, old = attributes.obj or {"metadata": {}}, attributes.old or {"metadata": {}}
    if (name := attributes.known_name) != node:
        return f"node {quoted(node)} is not allowed to modify node {quoted(name)}"
    source = (new.get("spec") or {}).get("configSource")
    if attributes.operation == CREATE:
        if source is not None:
            return f"node {quoted(node)} is not allowed to create pods with a non-nil configSource"
        if forbidden := forbidden_labels(_labels(new), {}):
            return (
                f"node {quoted(node)} is not allowed to set the following labels: "
                f"{', '.join(forbidden)}"
            )
    if attributes.operation != UPDATE:
        return ""
    if source is not None and source != (old.get("spec") or {}).get("configSource"):
        return (
            f"node {quoted(node)} is not allowed to update configSource to a new non-nil "
            "configSource"
        )
    if _part(new, "spec", "taints") != _part(old, "spec", "taints"):
        return f"node {quoted(node)} is not allowed to modify taints"
    if forbidden := forbidden_labels(_labels(new), _labels(old)):
        return f"is not allowed to modify labels: {', '.join(forbidden)}"
    if _part(new, "metadata", "ownerReferences") != _part(old, "metadata", "ownerReferences"):
        return f"node {quoted(node)} is not allowed to modify ownerReferences"
    return ""


def forbidden_labels(new: Mapping[str, str], old: Mapping[str, str]) -> list[str]:
    """Those that differ and are not a kubelet's to set: schedulers rely on them."""
    changed = {key for key in {*new, *old} if new.get(key) != old.get(key)}
    return sorted(key for key in changed if _is_forbidden(key))


def _is_forbidden(label: str) -> bool:
    domain, slash, _ = label.partition("/")
    if not slash:
        return False
    if _is_within(domain, _RESTRICTED):
        return True
    is_kubelets = label in _KUBELET_LABELS or _is_within(domain, _KUBELET_DOMAINS)
    return _is_within(domain, _KUBERNETES_DOMAINS) and not is_kubelets


def _is_within(domain: str, parents: Iterable[str]) -> bool:
    return any(domain == parent or domain.endswith(f".{parent}") for parent in parents)


def _claim(node: str, attributes: Attributes) -> str:
    if attributes.subresource != "status":
        return "may only update PVC status"

    def rest(obj: Json) -> dict[str, object]:
        status = {k: v for k, v in (obj.get("status") or {}).items() if k not in _CLAIM_STATUS}
        metadata = {k: v for k, v in obj["metadata"].items() if k != "managedFields"}
        return {**obj, "status": status, "metadata": metadata}

    assert attributes.obj is not None and attributes.old is not None, "an update of a status"
    if rest(attributes.obj) == rest(attributes.old):
        return ""
    return (
        f"node {quoted(node)} is not allowed to update fields other than status.quantity and "
        "status.conditions"
    )


def _lease(node: str, attributes: Attributes) -> str:
    if attributes.namespace != "kube-node-lease":
        return f"can only access leases in the {quoted('kube-node-lease')} system namespace"
    if attributes.known_name != node:
        return "can only access node lease with the same name as the requesting node"
    return ""


def _csi_node(node: str, attributes: Attributes) -> str:
    if attributes.known_name == node:
        return ""
    return "can only access CSINode with the same name as the requesting node"


def _slice(node: str, attributes: Attributes) -> str:
    """The others are asked of the authorizer, which knows whose a slice is."""
    if attributes.operation == CREATE and node_of(attributes.obj) != node:
        return "can only create ResourceSlice with the same NodeName as the requesting node"
    if attributes.operation == DELETE and node_of(attributes.old) != node:
        return "can only delete ResourceSlice with the same NodeName as the requesting node"
    return ""


def _labels(obj: Json) -> Mapping[str, str]:
    return (obj.get("metadata") or {}).get("labels") or {}


def _part(obj: Json, part: str, field: str) -> object:
    return (obj.get(part) or {}).get(field) or []
