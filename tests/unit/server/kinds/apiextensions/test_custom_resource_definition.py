"""Definitions of custom resources, as tables print them."""

from __future__ import annotations

from tests.unit.server.kinds.printing import cells
from tests.unit.server.views.sample import MINUTE_AGO


def test_a_definition_marks_its_storage_version() -> None:
    body = {
        "spec": {
            "group": "example.com",
            "scope": "Namespaced",
            "names": {"kind": "Thing", "shortNames": ["th", "t"]},
            "versions": [
                {"name": "v2", "served": True},
                {"name": "v1", "served": True, "storage": True},
            ],
        },
        "status": {"conditions": [{"type": "Established", "status": "True"}]},
    }
    found = cells("apiextensions.k8s.io", "CustomResourceDefinition", body)
    assert found[1:] == [
        "Namespaced",
        "v2,v1(storage)",
        MINUTE_AGO,
        "example.com",
        "Thing",
        "th,t",
        True,
    ]
