"""Validation rules: when they run, what they see, what they say."""

from __future__ import annotations

from typing import Any

import pytest

pytest.importorskip("cel_expr_python.cel")

from proreus.server.custom.schema.structural import parse
from proreus.server.custom.schema.validation_rules.program import SchemaRules

Schema = dict[str, Any]


def rules(schema: Schema, *given: str | dict[str, Any]) -> Schema:
    validations = [{"rule": one} if isinstance(one, str) else one for one in given]
    return {**schema, "x-kubernetes-validations": validations}


def said(schema: Schema, value: Any, *old: Any) -> list[str]:
    found = SchemaRules(parse(schema)).violations(value, *old, is_resource=False)
    return [str(error) for error in found if not error.is_tolerated]


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


def test_what_failed_before_is_reported_but_tolerated() -> None:
    schema = parse(rules({"type": "object", "properties": {"o": OBJECT}}, "self.o.a < 10"))
    rule = SchemaRules(schema)

    [unchanged] = rule.violations({"o": {"a": 20}}, {"o": {"a": 20}})
    [changed] = rule.violations({"o": {"a": 21}}, {"o": {"a": 20}})

    assert unchanged.is_tolerated
    assert not changed.is_tolerated


def test_an_unchanged_list_is_tolerated_with_its_items() -> None:
    items = rules({"type": "integer"}, "self < 10")
    rule = SchemaRules(parse({"type": "array", "items": items}))

    assert [one.is_tolerated for one in rule.violations([1, 20], [1, 20])] == [True]
    assert [one.is_tolerated for one in rule.violations([20], [1, 20])] == [False]


def test_items_of_a_map_are_compared_with_their_former_selves() -> None:
    item = {"type": "object", "properties": {"k": {"type": "string"}, "v": {"type": "integer"}}}
    schema = {
        "type": "array",
        "items": rules(item, "self.v >= oldSelf.v"),
        "x-kubernetes-list-type": "map",
        "x-kubernetes-list-map-keys": ["k"],
    }
    before = [{"k": "a", "v": 5}, {"k": "b", "v": 5}]

    assert said(schema, [{"k": "b", "v": 5}, {"k": "c", "v": 1}, {"k": "a", "v": 6}], before) == []
    assert said(schema, [{"k": "b", "v": 4}], before) == [
        "[0]: Invalid value: failed rule: self.v >= oldSelf.v"
    ]


def test_a_failing_rule_is_never_tolerated_as_an_error() -> None:
    [error] = SchemaRules(parse(rules(OBJECT, "self.a < 10"))).violations({}, {})

    assert not error.is_tolerated


@pytest.mark.parametrize(
    ("kind", "old", "new"),
    [
        ("set", ["a", "b"], ["b", "a"]),
        ("map", [{"k": 1, "v": 2}, {"k": 2, "v": 3}], [{"k": 2, "v": 3}, {"k": 1, "v": 2}]),
    ],
)
def test_sets_and_maps_have_no_order(kind: str, old: list[Any], new: list[Any]) -> None:
    item = {"type": "object", "properties": {"k": {"type": "integer"}, "v": {"type": "integer"}}}
    schema = {
        "type": "array",
        "items": item if kind == "map" else {"type": "string"},
        "x-kubernetes-list-type": kind,
        "x-kubernetes-list-map-keys": ["k"] if kind == "map" else [],
    }

    assert said(rules(schema, "self == oldSelf"), new, old) == []
    assert said(rules(schema, "self + oldSelf == self"), new, old) == []
    assert said(rules(schema, "self == oldSelf"), new[:1], old) != []


def test_formats_have_their_types() -> None:
    text = {"type": "string"}
    fields = {
        "when": {**text, "format": "date-time"},
        "long": {**text, "format": "duration"},
        "raw": {**text, "format": "byte"},
        "day": {**text, "format": "date"},
        "ratio": {"type": "number"},
    }
    value = {
        "when": "2024-02-29T01:00:00Z", "long": "90m", "raw": "aGk=", "day": "2024-03-01",
        "ratio": 3,
    }  # fmt: skip
    rule = (
        "self.when.getMonth() == 1 && self.long > duration('1h') && self.raw == b'hi' "
        "&& self.day > self.when && self.ratio / 2.0 == 1.5"
    )

    assert said(rules({"type": "object", "properties": fields}, rule), value) == []


def test_a_message_may_be_computed() -> None:
    rule = {
        "rule": "self.a < 10",
        "message": "plain",
        "messageExpression": "'got ' + string(self.a)",
    }
    failing = {"rule": "self.a < 10", "message": "plain", "messageExpression": "self.s__dash__x"}

    assert said(rules(OBJECT, rule), {"a": 20}) == ["<nil>: Invalid value: got 20"]
    assert said(rules(OBJECT, failing), {"a": 20}) == ["<nil>: Invalid value: plain"]


def test_values_of_no_declared_type_fail_when_they_do_not_fit() -> None:
    schema = {"type": "object", "properties": {"x": {"x-kubernetes-int-or-string": True}}}

    assert said(rules(schema, "self.x > 1"), {"x": "a"}) == [
        "<nil>: Invalid value: \"object\": 'no such overload': call arguments did not match a "
        "supported operator, function or macro signature for rule: self.x > 1"
    ]
    assert said(rules(schema, "type(self.x) == int ? self.x > 1 : self.x == 'a'"), {"x": "a"}) == []


LIST = {"type": "object", "properties": {"l": {"type": "array", "items": {"type": "integer"}}}}
HOSTILE = "self.l.all(x, self.l.all(y, self.l.all(z, x + y + z >= 0)))"


def test_a_hostile_rule_is_stopped() -> None:
    found = said(rules(LIST, HOSTILE, "self.l.size() < 3"), {"l": list(range(2000))})

    assert found == [
        "<nil>: Invalid value: \"object\": 'operation cancelled: actual cost limit exceeded': no "
        f"further validation rules will be run due to call cost exceeds limit for rule: {HOSTILE}"
    ]


def doubled(start: str, step: str) -> str:
    """A value that holds itself twice, many times over: small to write and to make."""
    return f"[{start}]" + f".map(x, {step})" * 22 + "[0]"


@pytest.mark.parametrize(
    "rule",
    [
        f"{doubled('self', 'dyn([x, x])')} == {doubled('self', 'dyn([x, x])')}",
        f"{doubled('self', 'x + x')}.size() > 0",
        f"""{doubled("self", "'%s%s'.format([x, x])")}.size() > 0""",
        f"'%s'.format([{doubled('self', 'dyn([x, x])')}]).size() > 0",
        f"{doubled('self', 'dyn([x, x])')} in [{doubled('self', 'dyn([x, x])')}]",
        f"sets.equivalent({doubled('self', 'dyn([x, x])')}, {doubled('self', 'dyn([x, x])')})",
    ],
)
def test_values_that_hold_themselves_many_times_over_are_paid_for(rule: str) -> None:
    [error] = said(rules({"type": "string"}, rule), "ab" * 200)

    assert "actual cost limit exceeded" in error


@pytest.mark.parametrize(
    "rule",
    [
        "timestamp('9999-12-31T23:59:59Z') + duration('48h') > timestamp('2020-01-01T00:00:00Z')",
        "{dyn([1]): 1}.size() == 1",
        "dyn(1).hasValue()",
        "duration('9999999999999' + 'h') > duration('1h')",
        "int('' + '" + "9" * 5000 + "') > 0",
    ],
)
def test_nothing_a_rule_does_is_an_error_of_the_server(rule: str) -> None:
    [error] = said(rules({"type": "string"}, rule), "x")

    assert "rule: " in error


@pytest.mark.parametrize(
    "rule",
    [
        f"{doubled('[self]', 'x + x')}.size() > 0",
        f"""{doubled("bytes(self)", "bytes(string(x) + string(x))")}.size() > 0""",
        "self.replace('', self).replace('', self).size() > 0",
        "[self, self].map(a, [a, a].map(b, a + b)).size() == 3",
        "self.matches('(a+)+(b+)+c(a|b)*$') || true",
        "self.find('a') == 'a' && self.split('').map(x, self).join(self).size() > 0",
    ],
)
def test_large_texts_cannot_grow_without_bound(rule: str) -> None:
    found = said(rules({"type": "string"}, rule), "ab" * 200_000)

    assert all("cost" in one or "failed rule" in one for one in found)


def test_all_rules_of_an_object_share_a_budget() -> None:
    once = "self.l.all(x, self.l.all(y, x + y >= 0))"
    schema = parse(rules(LIST, *[once] * 20))

    found = SchemaRules(schema).violations({"l": list(range(50))}, budget=200_000)

    assert [str(one) for one in found] == [
        '<nil>: Invalid value: "object": validation failed due to running out of cost budget, no '
        "further validation rules will be run"
    ]


def test_a_message_about_a_former_value_needs_one_and_a_rule_about_it() -> None:
    small = {"rule": "self < 9", "messageExpression": "'was ' + string(oldSelf)"}
    grown = {"rule": "self > oldSelf.orValue(0)", "optionalOldSelf": True, "message": "grow",
             "messageExpression": "oldSelf.hasValue() ? 'more' : 'some'"}  # fmt: skip
    number = {"type": "integer"}

    assert said(rules(number, small, grown), 10, 5) == ["<nil>: Invalid value: 10: was 5"]
    assert said(rules(number, small), 10, 5) == ["<nil>: Invalid value: 10: failed rule: self < 9"]
    assert said(rules(number, grown), -1) == ["<nil>: Invalid value: -1: grow"]
    assert said(rules(number, grown), 1, 2) == ["<nil>: Invalid value: 1: grow"]


def test_former_values_are_found_in_an_atomic_map() -> None:
    fixed = {"type": "integer", "x-kubernetes-validations": [{"rule": "self == oldSelf"}]}
    schema = {"type": "object", "properties": {"n": fixed}, "x-kubernetes-map-type": "atomic"}
    rule = SchemaRules(parse(schema))

    assert [one.field for one in rule.violations({"n": 2}, {"n": 1}, is_resource=False)] == ["n"]


def test_what_is_wrong_in_a_plain_list_or_an_atomic_map_may_stay_where_it_was() -> None:
    small = {"type": "integer", "x-kubernetes-validations": [{"rule": "self < 10"}]}
    item = {"type": "object", "properties": {"n": small, "m": {"type": "integer"}}}
    schema = parse({"type": "object", "properties": {
        "l": {"type": "array", "items": item},
        "a": {"type": "array", "items": item, "x-kubernetes-list-type": "atomic"},
        "o": {**item, "x-kubernetes-map-type": "atomic"},
    }})  # fmt: skip
    rule = SchemaRules(schema)

    def refused(new: Any, old: Any) -> list[str]:
        found = rule.violations(new, old, is_resource=False)
        return [error.field for error in found if not error.is_tolerated]

    wrong, changed = {"n": 99, "m": 1}, {"n": 99, "m": 2}
    assert refused({"l": [changed]}, {"l": [wrong]}) == []
    assert refused({"o": changed}, {"o": wrong}) == []
    assert refused({"a": [changed]}, {"a": [wrong]}) == ["a[0].n"]
    assert refused({"l": [wrong, wrong]}, {"l": [wrong]}) == ["l[1].n"]
