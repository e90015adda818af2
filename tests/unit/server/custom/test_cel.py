"""Validation rules: when they run, what they see, what they say."""

from __future__ import annotations

from typing import Any

import pytest

pytest.importorskip("cel_expr_python.cel")

from proreus.server.custom.cel.declared import rule_violations
from proreus.server.custom.cel.program import run_rules
from proreus.server.custom.structural import parse

Schema = dict[str, Any]


def rules(schema: Schema, *given: str | dict[str, Any]) -> Schema:
    told = [{"rule": one} if isinstance(one, str) else one for one in given]
    return {**schema, "x-kubernetes-validations": told}


def said(schema: Schema, value: Any, *old: Any) -> list[str]:
    return [str(error) for error in run_rules(value, parse(schema), *old)]


OBJECT = {"type": "object", "properties": {"a": {"type": "integer"}, "s-x": {"type": "string"}}}


def test_a_failed_rule_says_its_message_or_itself() -> None:
    schema = rules(OBJECT, "self.a < 10", {"rule": "self.a < 5", "message": "too big"})

    assert said(schema, {"a": 20}) == [
        "<nil>: Invalid value: failed rule: self.a < 10",
        "<nil>: Invalid value: too big",
    ]
    assert said(schema, {"a": 1}) == []


def test_a_missing_key_is_an_error_of_the_rule() -> None:
    found = said(rules(OBJECT, "self.a < 10"), {})

    assert found == ['<nil>: Invalid value: "object": no such key: a evaluating rule: self.a < 10']


def test_names_that_cel_cannot_spell_are_escaped() -> None:
    assert said(rules(OBJECT, "self.s__dash__x == 'y'"), {"s-x": "y"}) == []


def test_transition_rules_wait_for_an_old_value() -> None:
    schema = rules({"type": "integer"}, "self >= oldSelf")

    assert said(schema, 1) == []
    assert said(schema, 1, 2) == ["<nil>: Invalid value: 1: failed rule: self >= oldSelf"]


def test_an_optional_old_value_is_asked_for() -> None:
    rule = {"rule": "oldSelf.hasValue() ? self == oldSelf.value() : self == 1",
            "optionalOldSelf": True}  # fmt: skip
    schema = rules({"type": "integer"}, rule)

    assert said(schema, 1) == []
    assert said(schema, 2) != []
    assert said(schema, 2, 2) == []


@pytest.mark.parametrize(
    ("rule", "value"),
    [
        (
            "self.isSorted() && self.sum() == 6 && self.max() == 3 && self.indexOf(2) == 1",
            [1, 2, 3],
        ),
        ("self.all(x, x > 0) && self.exists_one(x, x == 2)", [1, 2]),
        ("self.find('[0-9]+') == '12' && self.findAll('[a-z]').size() == 2", "a12b"),
        ("isURL(self) && self.startsWith('https')", "https://example.com/x"),
        ("isIP(self) && !isCIDR(self)", "10.0.0.1"),
        ("quantity(self).isGreaterThan(quantity('500Mi'))", "1Gi"),
        ("isQuantity(self) && quantity(self).compareTo(quantity('1')) == 0", "1000m"),
        ("self.split(',').map(x, x.trim()) == ['a', 'b']", "a, b"),
        ("duration(self) < duration('1h')", "30m"),
    ],
)
def test_rules_have_the_functions_of_kubernetes(rule: str, value: Any) -> None:
    kind = {"type": "array"} if isinstance(value, list) else {"type": "string"}

    assert said(rules(kind, rule), value) == []


def test_what_failed_before_may_stay() -> None:
    assert said(rules(OBJECT, "self.a < 10"), {"a": 20}, {"a": 20}) == []


def test_reasons_and_field_paths_are_kept() -> None:
    rule = {
        "rule": "self.a < 10",
        "message": "no",
        "reason": "FieldValueForbidden",
        "fieldPath": ".a",
    }

    assert said(rules(OBJECT, rule), {"a": 20}) == ["a: Forbidden: no"]


@pytest.mark.parametrize(
    ("rule", "message"),
    [
        ({"rule": "self.a >"}, "compilation failed"),
        ({"rule": "nothing(self)"}, "undeclared reference"),
        ({"rule": "true", "message": "a\nb"}, "must not contain line breaks"),
        ({"rule": "true", "reason": "X"}, "Unsupported value"),
        ({"rule": "true", "fieldPath": ".x"}, "must be a valid path"),
        ({"rule": "true", "optionalOldSelf": True}, "may not be set if oldSelf is not used"),
    ],
)
def test_a_rule_must_be_well_formed(rule: dict[str, Any], message: str) -> None:
    found = rule_violations(parse(rules(OBJECT, rule)), "s")

    assert message in str(found[0])


def test_costs_without_bounds_are_refused() -> None:
    items = {"type": "array", "items": {"type": "string"}}
    nested = "self.l.all(x, self.l.all(y, x == y))"
    schema = rules({"type": "object", "properties": {"l": items}}, nested)
    bounded = rules({"type": "object", "properties": {"l": {**items, "maxItems": 10}}}, nested)

    assert "exceeds budget by factor" in str(rule_violations(parse(schema), "s")[0])
    assert rule_violations(parse(bounded), "s") == []


def test_old_values_cannot_be_found_in_a_plain_list() -> None:
    items = rules({"type": "integer"}, "self == oldSelf")
    schema = {"type": "array", "maxItems": 3, "items": items}

    assert "uncorrelatable" in str(rule_violations(parse(schema), "s")[0])


def test_without_the_library_a_definition_with_rules_is_refused(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("proreus.server.custom.cel.declared.is_available", lambda: False)

    found = rule_violations(parse(rules(OBJECT, "true")), "s")

    assert "without the extra `cel`" in str(found[0])
