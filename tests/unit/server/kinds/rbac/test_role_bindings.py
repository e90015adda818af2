"""Bindings of roles, as tables print them."""

from __future__ import annotations

from tests.unit.server.kinds.printing import cells


def test_bindings_name_their_role_and_subjects() -> None:
    subjects = [
        {"kind": "User", "name": "u1"},
        {"kind": "User", "name": "u2"},
        {"kind": "Group", "name": "g"},
        {"kind": "ServiceAccount", "name": "s", "namespace": "n"},
    ]
    body = {"roleRef": {"kind": "Role", "name": "r"}, "subjects": subjects}
    found = cells("rbac.authorization.k8s.io", "RoleBinding", body)
    assert found[1:] == ["Role/r", "60s", "u1, u2", "g", "n/s"]
