"""Aggregated APIs."""

from __future__ import annotations

from tests.unit.server.kinds.creating import errors


def test_an_aggregated_api_is_called_by_its_version_and_group() -> None:
    spec = {"group": "a.example", "version": "v1", "groupPriorityMinimum": 1, "versionPriority": 0}

    assert errors("apiregistration.k8s.io/v1", "APIService", spec=spec) == [
        'metadata.name: Invalid value: "a": must be `spec.version+"."+spec.group`: "v1.a.example"',
        "spec.versionPriority: Invalid value: 0: must be positive and less than 1000",
    ]
