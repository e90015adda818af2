"""Namespaces."""

from __future__ import annotations

from tests.unit.server.kinds.creating import created


def test_a_namespace_has_its_name_as_label_and_a_finalizer() -> None:
    made = created("v1", "Namespace", status={"phase": "Terminating"})

    assert made["metadata"]["labels"] == {"kubernetes.io/metadata.name": "a"}
    assert made["spec"] == {"finalizers": ["kubernetes"]}
    assert made["status"] == {"phase": "Active"}
