"""The node authorizer: a kubelet reads what its pods need and writes what is its own.

It is known by its user name, ``system:node:NAME``, and the group ``system:nodes``. What it may
write is narrowed further by admission, which sees the objects; here only names are known.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from proreus.api.go_text import quoted
from proreus.server.authz.authorizer import ALLOWED, NO_OPINION, Action, Decision, Verdict
from proreus.server.authz.node.graph import (
    ATTACHMENT,
    CERTIFICATE_REQUEST,
    SLICE,
    VOLUME,
    NodeGraph,
)
from proreus.server.authz.node.references import (
    CLAIM,
    CONFIG_MAP,
    POD,
    RESOURCE_CLAIM,
    SECRET,
    SERVICE_ACCOUNT,
    NodeReference,
)
from proreus.server.authz.rbac.authorizer import Rbac
from proreus.server.authz.rbac.bindings import CLUSTER_ROLE, GROUP, Binding, Subject
from proreus.server.authz.rbac.bootstrap import bootstrap_policy
from proreus.server.authz.rbac.rules import Held, rules_of
from proreus.server.registry.user import User

NODES = "system:nodes"
NODE_PREFIX = "system:node:"
_ROLE = "system:node"
_LEASES = "kube-node-lease"
_OWN_VERBS = frozenset({"get", "create", "update", "patch", "delete"})


class NodeAuthorizer:
    def __init__(self, graph: NodeGraph) -> None:
        self._graph = graph
        self._rules = _node_rules()
        self._checks: Mapping[tuple[str, str], Callable[[str, Action], str | None]] = {
            ("", "secrets"): self._secret,
            ("", "configmaps"): self._config_map,
            ("", "persistentvolumeclaims"): self._claim,
            ("", "persistentvolumes"): self._volume,
            ("", "serviceaccounts"): self._service_account,
            ("", "nodes"): self._node,
            ("", "pods"): self._pod,
            ("resource.k8s.io", "resourceclaims"): self._resource_claim,
            ("resource.k8s.io", "resourceslices"): self._slice,
            ("storage.k8s.io", "volumeattachments"): self._attachment,
            ("storage.k8s.io", "csinodes"): _csi_node,
            ("coordination.k8s.io", "leases"): _lease,
            ("certificates.k8s.io", "podcertificaterequests"): self._certificate_request,
        }

    def authorize(self, action: Action) -> Verdict:
        user = action.user
        if not user.name.startswith(NODE_PREFIX) or NODES not in user.groups:
            return NO_OPINION
        node = user.name.removeprefix(NODE_PREFIX)
        if not node:
            return _refused(f"unknown node for user {quoted(user.name)}")
        check = None if action.path else self._checks.get((action.group, action.resource))
        if check is None:
            decision = self._rules.authorize(action).decision
            return ALLOWED if decision is Decision.ALLOW else NO_OPINION
        why = check(node, action)
        return ALLOWED if why is None else _refused(why)

    def rules_of(self, user: User, namespace: str) -> Held:
        """What a node may do depends on its pods, which rules cannot tell."""
        if not user.name.startswith(NODE_PREFIX) or NODES not in user.groups:
            return Held([], [])
        return Held([], ["node authorizer does not support user rule resolution"], True)

    # Each says why not; None: it may.

    def _secret(self, node: str, action: Action) -> str | None:
        return self._read(node, SECRET, action)

    def _config_map(self, node: str, action: Action) -> str | None:
        return self._read(node, CONFIG_MAP, action)

    def _volume(self, node: str, action: Action) -> str | None:
        return self._get(node, VOLUME, action)

    def _resource_claim(self, node: str, action: Action) -> str | None:
        return self._get(node, RESOURCE_CLAIM, action)

    def _attachment(self, node: str, action: Action) -> str | None:
        return self._get(node, ATTACHMENT, action)

    def _claim(self, node: str, action: Action) -> str | None:
        if action.subresource != "status":
            return self._get(node, CLAIM, action)
        if action.verb not in ("update", "patch"):
            return "can only get/update/patch this type"
        return self._related(node, CLAIM, action)

    def _service_account(self, node: str, action: Action) -> str | None:
        if action.verb == "get" and not action.subresource:
            return self._related(node, SERVICE_ACCOUNT, action)
        if action.verb != "create" or not action.name:
            return "can only create tokens for individual service accounts"
        if action.subresource != "token":
            return "can only create token subresource of serviceaccount"
        return self._related(node, SERVICE_ACCOUNT, action)

    def _node(self, node: str, action: Action) -> str | None:
        match action.subresource, action.verb:
            case ("", "create" | "update" | "patch") | ("status", "update" | "patch"):
                return None
            case "", "get" | "list" | "watch":
                if action.name == node:
                    return None
                what = f"'{action.name}'" if action.name else "all nodes"
                return f"node '{node}' cannot read {what}, only its own Node object"
            case _:
                return ""

    def _pod(self, node: str, action: Action) -> str | None:
        match action.subresource, action.verb:
            case "", "get":
                return self._get(node, POD, action)
            case "", "list" | "watch":
                if action.selected_node == node:
                    return None
                if action.name:
                    return self._related(node, POD, action)
                return "can only list/watch pods with spec.nodeName field selector"
            case (
                ("", "create" | "delete") | ("status", "update" | "patch") | ("eviction", "create")
            ):
                return None
            case _:
                return ""

    def _slice(self, node: str, action: Action) -> str | None:
        if action.subresource:
            return "cannot authorize ResourceSlice subresources"
        match action.verb:
            case "create":
                return None
            case "get" | "update" | "patch" | "delete":
                return self._related(node, SLICE, action)
            case "list" | "watch" | "deletecollection":
                if action.selected_node == node:
                    return None
                return (
                    "can only list/watch/deletecollection resourceslices with nodeName field "
                    "selector"
                )
            case _:
                return "only the following verbs are allowed for a ResourceSlice"

    def _certificate_request(self, node: str, action: Action) -> str | None:
        if action.verb in ("list", "watch"):
            if action.selected_node == node:
                return None
            return "can only list/watch podcertificaterequests with nodeName field selector"
        if action.verb == "create" and not action.subresource:
            return None
        return self._get(node, CERTIFICATE_REQUEST, action)

    def _read(self, node: str, kind: str, action: Action) -> str | None:
        if action.verb not in ("get", "list", "watch"):
            return "can only read resources of this type"
        if action.subresource:
            return "cannot read subresource"
        if not action.namespace:
            return "can only read namespaced object of this type"
        return self._related(node, kind, action)

    def _get(self, node: str, kind: str, action: Action) -> str | None:
        if action.verb != "get":
            return "can only get individual resources of this type"
        if action.subresource:
            return "cannot get subresource"
        return self._related(node, kind, action)

    def _related(self, node: str, kind: str, action: Action) -> str | None:
        if not action.name:
            return "No Object name found"
        if self._graph.is_related(node, NodeReference(kind, action.namespace, action.name)):
            return None
        return f"no relationship found between node '{node}' and this object"


def _lease(node: str, action: Action) -> str | None:
    if action.verb not in _OWN_VERBS:
        return "can only get, create, update, patch, or delete a node lease"
    if action.namespace != _LEASES:
        return f"can only access leases in the {quoted(_LEASES)} system namespace"
    if action.verb != "create" and action.name != node:
        return "can only access node lease with the same name as the requesting node"
    return None


def _csi_node(node: str, action: Action) -> str | None:
    if action.verb not in _OWN_VERBS:
        return "can only get, create, update, patch, or delete a CSINode"
    if action.subresource:
        return "cannot authorize CSINode subresources"
    if action.verb != "create" and action.name != node:
        return "can only access CSINode with the same name as the requesting node"
    return None


def _refused(why: str) -> Verdict:
    return Verdict(Decision.NO_OPINION, f"node: {why}") if why else NO_OPINION


def _node_rules() -> Rbac:
    """What every node may do: the cluster role of nodes, which is bound to nobody."""
    rules = Rbac()
    for one in bootstrap_policy():
        if (one.plural, one.name) == ("clusterroles", _ROLE):
            rules.put_role("", _ROLE, rules_of(one.decoded(0)))
    subjects = (Subject(GROUP, NODES),)
    rules.put_binding(
        Binding(name=_ROLE, role_kind=CLUSTER_ROLE, role_name=_ROLE, subjects=subjects)
    )
    return rules
