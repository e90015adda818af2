"""Admission policies and their bindings."""

from __future__ import annotations

from typing import Any

import pytest

from tests.unit.server.schema.creating import errors

ADMISSION = "admissionregistration.k8s.io/v1"
RULE = {"apiGroups": [""], "apiVersions": ["v1"], "operations": ["*"], "resources": ["pods"]}


@pytest.mark.parametrize(
    ("spec", "problems"),
    [
        ({"paramKind": {"apiVersion": "v1", "kind": "A b"}},
         ["spec.paramKind.kind: Invalid value: \"A b\": may have mixed case, but should otherwise "
          "match: a DNS-1035 label must consist of lower case alphanumeric characters or '-', "
          "start with an alphabetic character, and end with an alphanumeric character (e.g. "
          "'my-name',  or 'abc-123', regex used for validation is '[a-z]([-a-z0-9]*[a-z0-9])?')"]),
        ({"variables": [{"name": "in", "expression": "1"}]},
         ['spec.variables[0].name: Invalid value: "in": name is not a valid CEL identifier']),
        ({"validations": [{"expression": "true", "message": "a\nb", "reason": "Odd"}]},
         ['spec.validations[0].message: Invalid value: "a\\nb": message must not contain line '
          "breaks",
          'spec.validations[0].reason: Unsupported value: "Odd": supported values: "Forbidden", '
          '"Invalid", "RequestEntityTooLarge"']),
    ],
)  # fmt: skip
def test_an_admission_policy_is_judged(spec: dict[str, Any], problems: list[str]) -> None:
    whole = {
        "matchConstraints": {"resourceRules": [RULE]},
        "validations": [{"expression": "true"}],
        **spec,
    }

    assert errors(ADMISSION, "ValidatingAdmissionPolicy", spec=whole) == problems


def test_a_policy_that_changes_objects_says_how() -> None:
    spec = {"matchConstraints": {"resourceRules": [RULE]}}

    assert errors(ADMISSION, "MutatingAdmissionPolicy", spec=spec) == [
        "spec.mutations: Required value: mutations must contain at least one item",
        "spec.reinvocationPolicy: Required value",
    ]


def test_a_binding_has_one_way_to_its_parameters() -> None:
    reference = {"name": "p", "selector": {}}
    spec = {"policyName": "p", "validationActions": ["Deny", "Deny"], "paramRef": reference}

    assert errors(ADMISSION, "ValidatingAdmissionPolicyBinding", spec=spec) == [
        "spec.paramRef.name: Forbidden: name and selector are mutually exclusive",
        "spec.paramRef.selector: Forbidden: name and selector are mutually exclusive",
        "spec.paramRef.parameterNotFoundAction: Required value",
        'spec.validationActions[1]: Duplicate value: "Deny"',
    ]
