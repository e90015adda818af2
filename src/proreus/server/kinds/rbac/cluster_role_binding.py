"""ClusterRoleBinding: grants a role in every namespace, and on cluster resources."""

from __future__ import annotations

from proreus.server.kinds.parts.role_bindings import role_binding

RESOURCES = (role_binding("ClusterRoleBinding", namespaced=False),)
