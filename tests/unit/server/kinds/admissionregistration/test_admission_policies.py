"""Admission policies and their bindings."""

from __future__ import annotations

from typing import Any

import pytest

from proreus.server.offload import NeedsThread
from tests.unit.server.kinds.creating import created, errors, resource_of, status_errors
from tests.unit.server.views.sample import NOW

ADMISSION = "admissionregistration.k8s.io/v1"
NEVER = "2026-01-01T00:00:00Z"
RULE = {"apiGroups": [""], "apiVersions": ["v1"], "operations": ["*"], "resources": ["pods"]}

pytest.importorskip("cel_expr_python.cel")


@pytest.mark.parametrize(
    ("spec", "problems"),
    [
        ({"paramKind": {"apiVersion": "v1", "kind": "A b"}},
         ["spec.paramKind.kind: Invalid value: \"A b\": may have mixed case, but should otherwise "
          "match: a DNS-1035 label must consist of lower case alphanumeric characters or '-', "
          "start with an alphabetic character, and end with an alphanumeric character (e.g. "
          "'my-name',  or 'abc-123', regex used for validation is '[a-z]([-a-z0-9]*[a-z0-9])?')"]),
        ({"variables": [{"name": "in", "expression": "1"}]},
         ['spec.variables[0].name: Invalid value: "in": must be a valid CEL identifier']),
        ({"variables": [{"name": "a-b", "expression": "1 +"}, {"name": "", "expression": "x"}]},
         ['spec.variables[0].name: Invalid value: "a-b": must be a valid CEL identifier',
          'spec.variables[0].expression: Invalid value: "1 +": compilation failed: ERROR: '
          "<input>:1:4: Syntax error: mismatched input '<EOF>' expecting {'[', '{', '(', '.', "
          "'-', '!', 'true', 'false', 'null', NUM_FLOAT, NUM_INT, NUM_UINT, STRING, BYTES, "
          "IDENTIFIER}\n | 1 +\n | ...^",
          "spec.variables[1].name: Required value: name is not specified",
          'spec.variables[1].expression: Invalid value: "x": compilation failed: ERROR: '
          "<input>:1:1: undeclared reference to 'x' (in container '')\n | x\n | ^"]),
        ({"auditAnnotations": [{"key": "k", "valueExpression": " 1 "}]},
         ['spec.auditAnnotations[0].valueExpression: Invalid value: " 1 ": must evaluate to one '
          "of [string null_type] but got int"]),
        ({"validations": [{"expression": "true", "message": "a\nb", "reason": "Odd"}]},
         ['spec.validations[0].message: Invalid value: "a\\nb": must not contain line breaks',
          'spec.validations[0].reason: Unsupported value: "Odd": supported values: "Forbidden", '
          '"Invalid", "RequestEntityTooLarge"']),
        ({"failurePolicy": ""},
         ['spec.failurePolicy: Unsupported value: "": supported values: "Fail", "Ignore"']),
        ({"validations": [{"expression": "object.a == 1 ? 'x' : 'y'"}]},
         ["spec.validations[0].expression: Invalid value: \"object.a == 1 ? 'x' : 'y'\": must "
          "evaluate to bool but got string"]),
        ({"validations": [{"expression": "true", "messageExpression": "authorizer.path('/')"}]},
         ["spec.validations[0].messageExpression: Invalid value: \"authorizer.path('/')\": "
          "compilation failed: ERROR: <input>:1:1: undeclared reference to 'authorizer' (in "
          "container '')\n | authorizer.path('/')\n | ^"]),
        ({"variables": [{"name": "a", "expression": "object.x"},
                        {"name": "b", "expression": "variables.a + variables.c"}]},
         ['spec.variables[1].expression: Invalid value: "variables.a + variables.c": compilation '
          "failed: ERROR: <input>:1:24: undefined field 'c'\n | variables.a + variables.c\n | "
          ".......................^"]),
        ({"validations": [{"expression": "variables.a == 1"}]},
         ['spec.validations[0].expression: Invalid value: "variables.a == 1": compilation failed: '
          "ERROR: <input>:1:1: undeclared reference to 'variables' (in container '')\n | "
          "variables.a == 1\n | ^"]),
        ({"variables": [{"name": "n", "expression": "size(object.x)"}],
          "validations": [{"expression": "variables.n == 'a'"}]},
         ["spec.validations[0].expression: Invalid value: \"variables.n == 'a'\": compilation "
          "failed: ERROR: <input>:1:13: found no matching overload for '_==_' applied to '(int, "
          "string)'\n | variables.n == 'a'\n | ............^"]),
        ({"auditAnnotations": [{"key": "k", "valueExpression": "1"}]},
         ['spec.auditAnnotations[0].valueExpression: Invalid value: "1": must evaluate to one of '
          "[string null_type] but got int"]),
        ({"matchConditions": [{"name": "c", "expression": "params.x == 1"}],
          "paramKind": {"apiVersion": "v1", "kind": "ConfigMap"}}, []),
    ],
)  # fmt: skip
def test_an_admission_policy_is_validated(spec: dict[str, Any], problems: list[str]) -> None:
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


@pytest.mark.parametrize(
    ("mutation", "problems"),
    [
        ({"patchType": "ApplyConfiguration", "applyConfiguration": {"expression": "Object{a: 1}"}},
         []),
        ({"patchType": "ApplyConfiguration", "applyConfiguration": {"expression": "Object.a{}"}},
         ['spec.mutations[0].applyConfiguration.expression: Invalid value: "Object.a{}": must '
          "evaluate to Object but got Object.a"]),
        ({"patchType": "JSONPatch", "jsonPatch": {"expression": "[JSONPatch{op: 1}]"}},
         ['spec.mutations[0].jsonPatch.expression: Invalid value: "[JSONPatch{op: 1}]": '
          "compilation failed: ERROR: <input>:1:14: expected type of field 'op' is 'string' but "
          "provided type is 'int'\n | [JSONPatch{op: 1}]\n | .............^"]),
        ({"patchType": "JSONPatch"},
         ["spec.mutations[0].jsonPatch: Required value: must be specified when patchType is "
          "JSONPatch"]),
    ],
)  # fmt: skip
def test_a_mutation_makes_what_its_type_of_patch_wants(
    mutation: dict[str, Any], problems: list[str]
) -> None:
    spec = {
        "matchConstraints": {"resourceRules": [RULE]},
        "reinvocationPolicy": "Never",
        "mutations": [mutation],
    }

    assert errors(ADMISSION, "MutatingAdmissionPolicy", spec=spec) == problems


def test_an_expression_is_compiled_in_a_thread_if_there_are_many() -> None:
    validations = [{"expression": f"object.x != {number}"} for number in range(100)]
    policy = {
        "metadata": {"name": "p"},
        "spec": {"matchConstraints": {"resourceRules": [RULE]}, "failurePolicy": "Fail",
                 "validations": [*validations, {"expression": "1"}]},
    }  # fmt: skip

    rules = resource_of("admissionregistration.k8s.io", "ValidatingAdmissionPolicy").rules
    found = rules.validate(policy)

    assert isinstance(found, NeedsThread)
    assert [str(error) for error in found.work()] == [
        'spec.validations[100].expression: Invalid value: "1": must evaluate to bool but got int'
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


def spec_cells(group: str, kind: str, spec: dict[str, Any]) -> list[Any]:
    return resource_of(group, kind).printer.cells({"spec": spec}, NOW)


@pytest.mark.parametrize(
    ("ref", "text"),
    [
        (None, "<unset>"),
        ({"name": "p", "namespace": "n"}, "n/p"),
        ({"name": "p"}, "*/p"),
        (
            {"selector": {"matchLabels": {"b": "2", "a": "1"}}},
            "&LabelSelector{MatchLabels:map[string]string{a: 1,b: 2,},"
            "MatchExpressions:[]LabelSelectorRequirement{},}",
        ),
        (
            {"selector": {"matchExpressions": [{"key": "a", "operator": "In", "values": ["b"]}]}},
            "&LabelSelector{MatchLabels:map[string]string{},MatchExpressions:"
            "[]LabelSelectorRequirement{LabelSelectorRequirement{Key:a,Operator:In,Values:[b],},},}",
        ),
    ],
)
def test_a_policy_binding_says_which_parameters_it_takes(ref: Any, text: str) -> None:
    found = spec_cells(
        "admissionregistration.k8s.io", "ValidatingAdmissionPolicyBinding", {"paramRef": ref}
    )

    assert found[2] == text


def test_what_a_mutating_policy_and_its_binding_may_not_name_comes_with_their_rules() -> None:
    rules = {"resourceRules": [{**RULE, "operations": ["DELETE"]}]}
    patch = {"patchType": "JSONPatch", "jsonPatch": {"expression": " 1 "}}
    spec = {"matchConstraints": rules, "matchConditions": [{"name": "c"}], "mutations": [patch],
            "reinvocationPolicy": "Never"}  # fmt: skip
    binding = {"policyName": "p", "matchResources": rules}
    unsupported = (
        'Unsupported value: "DELETE": supported values: "*", "CONNECT", "CREATE", "UPDATE"'
    )

    assert errors(ADMISSION, "MutatingAdmissionPolicy", spec=spec) == [
        f"spec.matchConstraints.resourceRules.operations: {unsupported}",
        "spec.matchConditions[0].expression: Required value",
        'spec.mutations[0].jsonPatch.expression: Invalid value: "1": must evaluate to '
        "list(JSONPatch) but got int",
    ]
    assert errors(ADMISSION, "MutatingAdmissionPolicyBinding", spec=binding) == [
        f"spec.matchResources.resourceRules.operations: {unsupported}"
    ]


@pytest.mark.parametrize(("resources", "is_valid"), [(["*", "pods"], False), (["pods", "*"], True)])
def test_a_star_after_other_resources_is_taken(resources: list[str], is_valid: bool) -> None:
    spec = {"policyName": "p", "validationActions": ["Deny"],
            "matchResources": {"resourceRules": [{**RULE, "resources": resources}]}}  # fmt: skip

    found = errors(ADMISSION, "ValidatingAdmissionPolicyBinding", spec=spec)

    assert (found == []) is is_valid


def test_the_status_of_a_policy_is_validated() -> None:
    warning = {"fieldRef": "spec.validations[0].expression", "warning": "w"}
    policy = created(ADMISSION, "ValidatingAdmissionPolicy", spec={})
    condition = {"type": "A", "status": "Maybe", "lastTransitionTime": NEVER, "reason": "R"}

    def found(**status: Any) -> list[str]:
        return status_errors(policy, status)

    assert found(typeChecking={"expressionWarnings": [warning]}) == []
    assert found(typeChecking={"expressionWarnings": [{}]}) == [
        "status.typeChecking.expressionWarnings[0].warning: Required value",
        "status.typeChecking.expressionWarnings[0].fieldRef: Required value",
    ]
    assert found(conditions=[condition]) == [
        'status.conditions[0].status: Unsupported value: "Maybe": supported values: "False", '
        '"True", "Unknown"'
    ]
