"""Aggregated APIs."""

from __future__ import annotations

from tests.unit.server.kinds.creating import errors, resource_of
from tests.unit.server.validated import at_once


def test_an_aggregated_api_is_called_by_its_version_and_group() -> None:
    spec = {"group": "a.example", "version": "v1", "groupPriorityMinimum": 1, "versionPriority": 0}

    assert errors("apiregistration.k8s.io/v1", "APIService", spec=spec) == [
        'metadata.name: Invalid value: "a": must be `spec.version+"."+spec.group`: "v1.a.example"',
        "spec.versionPriority: Invalid value: 0: must be positive and less than 1000",
    ]


def test_a_condition_of_a_service_is_true_false_or_unknown() -> None:
    given = {"status": {"conditions": [{"type": "Available", "status": "Maybe"}]}}
    rules = resource_of("apiregistration.k8s.io", "APIService").rules

    found = at_once(rules.validate_status(given, {}))

    assert [str(error) for error in found] == [
        'status.conditions[0].status: Unsupported value: "Maybe": supported values: "True", '
        '"False", "Unknown"'
    ]
