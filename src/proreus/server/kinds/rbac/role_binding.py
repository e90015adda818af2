"""RoleBinding: grants a role in one namespace."""

from __future__ import annotations

from proreus.server.kinds.parts.role_bindings import role_binding

RESOURCES = (role_binding("RoleBinding", namespaced=True),)
