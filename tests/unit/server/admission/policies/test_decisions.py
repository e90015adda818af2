"""What a policy's validations say: decisions, messages, annotations and the limits of cost."""

from __future__ import annotations

from typing import Any

import pytest

pytest.importorskip("cel_expr_python.cel")

from proreus.server.admission.policies.compiled import CompiledPolicy
from proreus.server.admission.policies.decisions import PolicyDecisions, decide
from proreus.server.admission.policies.evaluation import PolicyEvaluation
from proreus.server.cel.pace import unhurried


def decided(
    obj: dict[str, Any], *, fails_open: bool = False, params: Any = None, **spec: Any
) -> PolicyDecisions:
    policy = CompiledPolicy.of(spec)
    values = (obj, None, None, {"operation": "CREATE"}, None, None)
    return decide(PolicyEvaluation(policy, values, params, unhurried()), fails_open=fails_open)


def validation(expression: str, **more: str) -> dict[str, str]:
    return {"expression": expression, **more}


def messages(decisions: PolicyDecisions) -> list[str]:
    return [decision.message for decision in decisions.decisions]


def test_each_validation_decides_for_itself() -> None:
    found = decided(
        {"a": 1},
        validations=[
            validation("object.a == 1"),
            validation("object.a == 2", message=" two ", reason="Forbidden"),
            validation("object.b == 1"),
        ],
    )

    assert [decision.is_denied for decision in found.decisions] == [False, True, True]
    assert messages(found) == [
        "",
        "two",
        "expression 'object.b == 1' resulted in error: no such key: b",
    ]
    assert [decision.reason for decision in found.decisions] == ["Invalid", "Forbidden", "Invalid"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("'a is ' + string(object.a)", "a is 1"),
        ("'  '", "plain"),
        ("'two\\nlines'", "plain"),
        ("object.missing", "plain"),
    ],
)
def test_a_message_is_made_or_falls_back(text: str, message: str) -> None:
    found = decided(
        {"a": 1},
        validations=[validation("false", message="plain", messageExpression=text)],
    )

    assert messages(found) == [message]


def test_a_message_that_is_too_long_is_not_used() -> None:
    long = " + ".join(["object.text"] * 6)
    found = decided({"text": "x" * 1000}, validations=[validation("false", messageExpression=long)])

    assert messages(found) == ["failed expression: false"]


def test_variables_build_on_each_other_and_are_evaluated_once() -> None:
    variables = [
        {"name": "a", "expression": "object.list.map(x, x + 1)"},
        {"name": "b", "expression": "variables.a.sum()"},
        {"name": "broken", "expression": "object.nothing"},
    ]
    checks = ["variables.b == 9", "variables.a == [2, 3, 4]", "variables.broken == 1"]
    found = decided({"list": [1, 2, 3]}, variables=variables,
                   validations=[validation(one) for one in checks])  # fmt: skip

    assert messages(found) == [
        "",
        "",
        "expression 'variables.broken == 1' resulted in error: composited variable \"broken\" "
        "fails to evaluate: no such key: nothing",
    ]


def test_what_fails_is_admitted_if_the_policy_fails_open() -> None:
    found = decided(
        {},
        fails_open=True,
        validations=[validation("object.x == 1"), validation("false")],
        auditAnnotations=[{"key": "k", "valueExpression": "string(object.x)"}],
    )

    assert [(one.is_denied, one.is_error) for one in found.decisions] == [
        (False, True),
        (True, False),
    ]
    assert found.unannotated == ()


def test_parameters_may_be_missing() -> None:
    checks = [validation("params == null || params.x == 1")]

    assert messages(decided({}, paramKind={}, validations=checks)) == [""]
    assert messages(decided({}, params={"x": 1}, paramKind={}, validations=checks)) == [""]


@pytest.mark.parametrize(
    ("conditions", "count"),
    [
        (["true", "object.a == 1"], 1),
        (["object.a == 2"], 0),
        (["object.none == 1", "false"], 0),
    ],
)
def test_conditions_decide_whether_a_policy_is_asked(conditions: list[str], count: int) -> None:
    named = [{"name": f"c{at}", "expression": text} for at, text in enumerate(conditions)]

    found = decided({"a": 1}, matchConditions=named, validations=[validation("false")])

    assert len(found.decisions) == count


def test_a_condition_that_fails_is_a_refusal() -> None:
    conditions = [{"name": "c", "expression": "object.none == 1"}]
    found = decided({}, matchConditions=conditions, validations=[validation("true")])

    assert messages(found) == ["expression 'object.none == 1' resulted in error: no such key: none"]


def test_annotations_are_texts_or_left_out() -> None:
    annotations = [
        {"key": "a", "valueExpression": "' said '"},
        {"key": "b", "valueExpression": "''"},
        {"key": "c", "valueExpression": "null"},
    ]
    found = decided({}, auditAnnotations=annotations)

    assert found.annotations == (("a", "said"),)


def test_an_expression_and_a_policy_may_cost_only_so_much() -> None:
    search = "!object.text.contains(object.part)"  # costs a hundredth of the product of the sizes
    text = "x" * 30_000
    alone = decided({"text": text, "part": "y" * 4_000}, validations=[validation(search)])
    many = decided(
        {"text": text, "part": "y" * 3_000}, validations=[validation(search) for _ in range(12)]
    )

    assert messages(alone) == [
        f"expression '{search}' resulted in error: operation cancelled: actual cost limit exceeded"
    ]
    assert messages(many) == [
        "validation failed due to running out of cost budget, no further validation rules will be "
        "run"
    ]


def test_a_stored_expression_that_does_not_compile_fails_when_it_is_evaluated() -> None:
    found = decided({}, validations=[validation("nothing == 1"), validation("true")])

    assert messages(found)[0].startswith(
        "compilation error: compilation failed: ERROR: <input>:1:1: undeclared reference to"
    )
    assert found.decisions[1].is_denied is False


@pytest.mark.parametrize(
    ("text", "missing"),
    [
        ("authorizer.path('/x').check('get').reason()", "authorizer"),
        ("authorizer.requestResource.check('get').reason()", "authorizer.requestResource"),
    ],
)
def test_an_annotation_that_asks_the_authorizer_finds_none(text: str, missing: str) -> None:
    found = decided({}, auditAnnotations=[{"key": "k", "valueExpression": text}])

    assert found.unannotated == (
        f"expression '{text}' resulted in error: no such attribute(s): {missing}",
    )
