"""Rules on values whose type the schema leaves open: int-or-string, null, unknown, embedded."""

from __future__ import annotations

from typing import Any

import pytest

pytest.importorskip("cel_expr_python.cel")

from proreus.server.custom.schema.structural import parse
from proreus.server.custom.schema.validation_rules.declared import rule_violations
from proreus.server.custom.schema.validation_rules.program import SchemaRules

Schema = dict[str, Any]
NO_MATCH = "found no matching overload for"
RULES = "x-kubernetes-validations"
AT = "spec.validation.openAPIV3Schema"
INTEGER, TEXT = {"type": "integer"}, {"type": "string", "maxLength": 9}
EITHER: Schema = {"x-kubernetes-int-or-string": True}
UNKNOWN: Schema = {"x-kubernetes-preserve-unknown-fields": True}
EMBEDDED: Schema = {"type": "object", "x-kubernetes-embedded-resource": True, **UNKNOWN}
OBJECT: Schema = {
    "type": "object",
    "properties": {
        "port": EITHER,
        "ports": {"type": "array", "maxItems": 4, "items": EITHER},
        "named": {"type": "object", "maxProperties": 4, "additionalProperties": EITHER},
        "flags": {
            "type": "array",
            "maxItems": 2,
            "items": {"type": "array", "maxItems": 2, "items": {"type": "boolean"}},
        },
        "s": TEXT,
        "text": {**TEXT, "nullable": True},
        "part": {"type": "object", "nullable": True, "properties": {"x": INTEGER}},
        "items": {"type": "array", "maxItems": 4, "items": {**INTEGER, "nullable": True}},
        "map": {
            "type": "object",
            "maxProperties": 4,
            "additionalProperties": {**TEXT, "nullable": True},
        },
        "unknown": UNKNOWN,
        "open": {"type": "object", **UNKNOWN},
        "list": {"type": "array", "maxItems": 4, "items": UNKNOWN},
        "embedded": EMBEDDED,
        "several": {"type": "array", "maxItems": 4, "items": EMBEDDED},
    },
}


def declared(rule: str, schema: Schema = OBJECT) -> list[str]:
    given = {**schema, "x-kubernetes-validations": [{"rule": rule, "message": "no"}]}
    root = {"type": "object", "properties": {"spec": given}}
    return [str(error) for error in rule_violations(parse(root), AT)]


def said(rule: str, value: Any, schema: Schema = OBJECT) -> list[str]:
    given = {**schema, "x-kubernetes-validations": [{"rule": rule}]}
    root = {"type": "object", "properties": {"spec": given}}
    return [str(error) for error in SchemaRules(parse(root)).violations({"spec": value})]


def no_overload(rule: str, kind: str = "object", of: str = "") -> str:
    return (
        f"spec: Invalid value: \"{kind}\": 'no such overload{of}': call arguments did not match a "
        f"supported operator, function or macro signature for rule: {rule}"
    )


@pytest.mark.parametrize(
    "rule,accepted,failed",
    [
        ("self.port == 80", [80], ["80", 81]),
        ("self.port == '80'", ["80"], [80]),
        ("type(self.port) == int", [80], ["80"]),
        ("type(self.port) == string", ["80"], [80]),
        ("string(self.port) == '80'", [80, "80"], ["81"]),
        ("int(self.port) == 80", [80, "80"], [81]),
        ("self.port in [80, 90]", [80], ["80"]),
        ("self.port == 80 || self.port == '80'", [80, "80"], [81]),
        ("type(self.port) == int ? self.port < 9 : self.port.endsWith('%')", [8, "9%"], [9, "9"]),
    ],
)
def test_an_int_or_string_is_what_it_holds(rule: str, accepted: Any, failed: Any) -> None:
    assert declared(rule) == []
    assert [said(rule, {"port": value}) for value in accepted] == [[]] * len(accepted)
    expected = [f"spec: Invalid value: failed rule: {rule}"]
    assert [said(rule, {"port": value}) for value in failed] == [expected] * len(failed)


@pytest.mark.parametrize(
    "rule,value",
    [
        ("self.port > 5", "80"),
        ("self.port + 1 == 81", "80"),
        ("self.port.matches('^[0-9]+$')", 80),
        ("isQuantity(self.port)", 80),
        ("size(self.port) == 2", 80),
    ],
)
def test_an_operation_on_the_other_type_fails_only_when_it_runs(rule: str, value: Any) -> None:
    assert declared(rule) == []
    [found] = said(rule, {"port": value})
    assert found.startswith('spec: Invalid value: "object": \'no such overload')


def test_a_rule_on_an_int_or_string_itself_names_no_type() -> None:
    rule = "self.endsWith('%')"

    assert said(rule, 5, EITHER) == [no_overload(rule, "")]
    assert said(rule, "5", EITHER) == [f'spec: Invalid value: "5": failed rule: {rule}']


@pytest.mark.parametrize(
    "rule",
    [
        "self.ports.all(x, type(x) == int || x.endsWith('%'))",
        "self.named.all(k, self.named[k] == 1 || self.named[k] == '5%')",
        "self.ports[1] == '5%' && self.ports.exists(x, x == 1)",
    ],
)
def test_lists_and_maps_may_hold_both(rule: str) -> None:
    assert declared(rule) == []
    assert said(rule, {"ports": [1, "5%"], "named": {"a": 1, "b": "5%"}}) == []


def test_a_bounded_int_or_string_bounds_the_cost() -> None:
    rule = "self.all(x, x.matches('^[a-z]+[0-9]*$'))"
    bounded = {"type": "array", "maxItems": 1000, "items": {**EITHER, "maxLength": 10}}

    assert declared(rule, bounded) == []
    assert declared(rule, {**bounded, "items": EITHER}) != []


@pytest.mark.parametrize("rule", ["self.port", "true ? self.port : self.port"])
def test_a_rule_of_no_certain_type_is_refused(rule: str) -> None:
    [found] = declared(rule)

    assert found.endswith("cel expression must evaluate to a bool")


def test_a_list_of_lists_keeps_its_type() -> None:
    assert declared("self.flags[0][0]") == []


@pytest.mark.parametrize("value", [{}, {"text": None, "part": None}])
def test_a_field_that_is_null_is_not_there(value: dict[str, Any]) -> None:
    holding = [
        "!has(self.text)",
        "!has(self.text) || self.text == 'x'",
        "self.?text.orValue('none') == 'none'",
        "!has(self.part) || self.part.x == 1",
        "self.?part.?x.orValue(5) == 5",
    ]

    assert [found for rule in holding for found in declared(rule) + said(rule, value)] == []
    assert said("self.text == 'x'", value) == [
        "spec: Invalid value: \"object\": no such key: text evaluating rule: self.text == 'x'"
    ]


def test_null_in_a_map_or_a_list_is_a_value() -> None:
    value = {"map": {"a": None}, "items": [None, 1]}

    assert said("'a' in self.map && has(self.map.a) && self.map['a'] != 'x'", value) == []
    assert said("self.items.size() == 2 && self.items[0] != 1", value) == []
    rule = "self.items.all(x, x > 0)"
    assert said(rule, value) == [no_overload(rule, of=": _>_")]


def test_rules_on_a_null_value_are_not_run() -> None:
    assert said("self == 'x'", None, {**TEXT, "nullable": True}) == []


@pytest.mark.parametrize(
    "rule,column,message",
    [
        ("self.text == null", 11, f"{NO_MATCH} '_==_' applied to '(string, null)'"),
        ("self.unknown == 1", 5, "undefined field 'unknown'"),
        ("has(self.unknown)", 4, "undefined field 'unknown'"),
        ("self.list.size() > 0", 5, "undefined field 'list'"),
        ("self.open.x == 1", 10, "undefined field 'x'"),
        ("size(self.open) > 0", 5, f"{NO_MATCH} 'size' applied to '(object)'"),
        ("self.embedded.metadata.uid == ''", 23, "undefined field 'uid'"),
        ("self.embedded.metadata.labels.a == ''", 23, "undefined field 'labels'"),
        ("self.embedded.spec.x == 1", 14, "undefined field 'spec'"),
        ("self.s.matches('(')", 16, "invalid matches argument"),
        ("true &&\n self.s.matches('a[')", 17, "invalid matches argument"),
        ("duration('x') > duration('1s')", 10, "invalid duration argument"),
        ("timestamp('x') < timestamp('2020-01-01T00:00:00Z')", 11, "invalid timestamp argument"),
        ("[1, 'a'].size() == 2", 5, "expected type 'int' but found 'string'"),
        ("[[1], ['a']].size() == 2", 7, "expected type 'list(int)' but found 'list(string)'"),
        ("{'a': 1, 'b': 'c'}.size() == 2", 15, "expected type 'int' but found 'string'"),
    ],
)  # fmt: skip
def test_what_does_not_compile_is_reported_once_with_its_place(
    rule: str, column: int, message: str
) -> None:
    [found] = declared(rule)

    line = rule.count("\n") + 1
    excerpt = rule.rpartition("\n")[2]
    expected = f"ERROR: <input>:{line}:{column}: {message}\n | {excerpt}\n | {'.' * (column - 1)}^"
    assert found.partition("compilation failed: ")[2] == expected


@pytest.mark.parametrize(
    "rule,column,message",
    [
        ("oldSelf.s == self.nope", 18, "undefined field 'nope'"),
        ("self.nope == 1 && oldSelf.hasValue()", 5, "undefined field 'nope'"),
        ("oldSelf.hasValue() &&\n oldSelf.value().s == 1", 20, f"{NO_MATCH} '_==_' applied to"),
        ("oldSelf.hasValue() && self.s.matches('(')", 38, "invalid matches argument"),
        ("oldSelf + 1 == 2", 9, f"{NO_MATCH} '_+_' applied to"),
    ],
)
def test_the_place_in_a_rule_with_an_optional_former_value_is_that_in_its_text(
    rule: str, column: int, message: str
) -> None:
    given = {"rule": rule, "message": "no", "optionalOldSelf": True}
    root = {"type": "object", "properties": {"spec": {**OBJECT, RULES: [given]}}}

    found = str(rule_violations(parse(root), AT)[0])

    head, _, excerpt = found.partition("compilation failed: ")[2].partition("\n")
    assert head.startswith(f"ERROR: <input>:{rule.count(chr(10)) + 1}:{column}: {message}")
    assert excerpt == f" | {rule.rpartition(chr(10))[2]}\n | {'.' * (column - 1)}^"


@pytest.mark.parametrize(
    "rule,why",
    [
        ("matches(self.s, '(')", "missing closing ): `(`"),
        ("self.s.find('[') == ''", "missing closing ]: `[`"),
        ("self.s.findAll('*').size() > 0", "missing argument to repetition operator: `*`"),
        ("self.s.findAll('*', 1).size() > 0", "missing argument to repetition operator: `*`"),
    ],
)
def test_other_constant_patterns_are_compiled_with_the_rule(rule: str, why: str) -> None:
    [found] = declared(rule)

    assert found.endswith(f"program instantiation failed: error parsing regexp: {why}")


def test_a_pattern_that_is_no_constant_is_tried_when_the_rule_runs() -> None:
    rule = "self.s.matches('(' + self.s)"

    assert declared(rule) == []
    assert "error parsing regexp" in said(rule, {"s": "a"})[0]


@pytest.mark.parametrize(
    "rule",
    [
        "self.embedded.kind == 'Pod' && self.embedded.apiVersion == 'v1'",
        "self.embedded.metadata.name == 'x' && !has(self.embedded.metadata.generateName)",
        "self.several.all(one, one.kind == 'Pod' && one.metadata.name == 'x')",
    ],
)
def test_the_type_and_the_name_of_an_embedded_object_can_be_read(rule: str) -> None:
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "x", "labels": {}}, "spec": {}}

    assert declared(rule) == []
    assert said(rule, {"embedded": pod, "several": [pod]}) == []


def test_a_rule_on_a_value_of_no_type_is_refused() -> None:
    assert declared("true", UNKNOWN) == [
        f"{AT}.properties[spec].x-kubernetes-validations: Internal error: internal error: failed "
        "to construct type information for x-kubernetes-validations rules: unable to convert "
        "structural schema to CEL declarations"
    ]
