"""Kinds of ``rbac.authorization.k8s.io/v1``. Their names may be any path segment."""

from __future__ import annotations

from proreus.server.registry.builtin.declare import Group
from proreus.server.registry.resource import Resource

_V1 = Group("rbac.authorization.k8s.io", "v1")


def _rule(kind: str, plural: str, *, namespaced: bool) -> Resource:
    return _V1.resource(
        kind, plural, namespaced=namespaced, create_on_update=True, name_rule="path-segment"
    )


RESOURCES: tuple[Resource, ...] = (
    _rule("ClusterRole", "clusterroles", namespaced=False),
    _rule("ClusterRoleBinding", "clusterrolebindings", namespaced=False),
    _rule("Role", "roles", namespaced=True),
    _rule("RoleBinding", "rolebindings", namespaced=True),
)
