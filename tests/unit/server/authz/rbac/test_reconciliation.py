"""Roles and bindings that every cluster has are mended, and what users added stays."""

from __future__ import annotations

from typing import Any

from proreus.server.authz.rbac.bootstrap import bootstrap_policy
from proreus.server.authz.rbac.reconciliation import AUTO_UPDATE, reconciled
from proreus.server.authz.rbac.rules import rules_of
from proreus.server.registry.server_objects import Recreate

READ = {"apiGroups": [""], "resources": ["pods"], "verbs": ["get", "list"]}
ANN = {"kind": "User", "name": "ann"}
BOB = {"kind": "User", "name": "bob"}


def role(*rules: Any, **metadata: Any) -> dict[str, Any]:
    return {"kind": "Role", "metadata": {"name": "r", **metadata}, "rules": list(rules)}


def binding(to: str, *subjects: Any) -> dict[str, Any]:
    reference = {"kind": "Role", "name": to}
    metadata = {"name": "b"}
    return {"metadata": metadata, "roleRef": reference, "subjects": list(subjects)}


def test_what_is_as_expected_is_not_written() -> None:
    for one in bootstrap_policy():
        expected = one.decoded(0)
        assert reconciled(expected, expected) is None


def test_missing_permissions_are_added_and_more_is_kept() -> None:
    own = {"apiGroups": [""], "resources": ["pods"], "verbs": ["get", "delete"]}

    mended = reconciled(role(own), role(READ))

    added = {"verbs": ["list"], "apiGroups": [""], "resources": ["pods"]}
    assert isinstance(mended, dict)
    assert mended["rules"] == [own, added]


def test_missing_labels_are_added_and_changed_ones_are_kept() -> None:
    existing = role(READ, labels={"a": "own"})

    mended = reconciled(existing, role(READ, labels={"a": "1", "b": "2"}))

    assert isinstance(mended, dict)
    assert mended["metadata"]["labels"] == {"a": "own", "b": "2"}


def test_an_object_that_opted_out_is_left_alone() -> None:
    existing = role(annotations={AUTO_UPDATE: "false"})

    assert reconciled(existing, role(READ)) is None


def test_missing_subjects_are_added_and_more_are_kept() -> None:
    mended = reconciled(binding("r", BOB), binding("r", ANN))

    assert isinstance(mended, dict)
    assert mended["subjects"] == [BOB, ANN]


def test_a_binding_to_another_role_is_made_anew() -> None:
    assert reconciled(binding("other", ANN), binding("r", ANN)) == Recreate()


def test_aggregated_roles_get_their_selectors_and_keep_their_rules() -> None:
    selector = {"matchLabels": {"a": "b"}}
    expected = {"metadata": {}, "aggregationRule": {"clusterRoleSelectors": [selector]}}

    mended = reconciled(role(READ), expected)

    assert isinstance(mended, dict)
    assert mended["rules"] == [READ]
    assert mended["aggregationRule"]["clusterRoleSelectors"] == [selector]


def test_every_binding_at_the_start_has_its_role() -> None:
    policy = [one.decoded(0) for one in bootstrap_policy()]
    roles = {(o["kind"], o["metadata"].get("namespace"), o["metadata"]["name"]) for o in policy}

    for obj in policy:
        if "roleRef" in obj:
            reference = obj["roleRef"]
            namespace = obj["metadata"].get("namespace") if reference["kind"] == "Role" else None
            assert (reference["kind"], namespace, reference["name"]) in roles
        else:
            assert rules_of(obj) or "aggregationRule" in obj
