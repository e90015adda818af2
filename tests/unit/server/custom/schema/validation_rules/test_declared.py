"""What is found in rules when their definition is written: types, forms, costs."""

from __future__ import annotations

from typing import Any

import pytest

from proreus.api.go_text import json_text

pytest.importorskip("cel_expr_python.cel")

from proreus.api import field_error
from proreus.server.custom.schema.structural import parse
from proreus.server.custom.schema.validation_rules import declared
from proreus.server.custom.schema.validation_rules.declared import rule_violations

Schema = dict[str, Any]
AT = "spec.validation.openAPIV3Schema"
TEXT, NUMBER = {"type": "string"}, {"type": "integer"}
ITEM = {"type": "object", "properties": {"k": {"type": "string", "maxLength": 20}}}
OBJECT: Schema = {
    "type": "object",
    "properties": {
        "n": NUMBER,
        "s": TEXT,
        "with-dash": TEXT,
        "with.dot": TEXT,
        "with__two": TEXT,
        "namespace": TEXT,
        "when": {**TEXT, "format": "date-time"},
        "long": {**TEXT, "format": "duration"},
        "raw": {**TEXT, "format": "byte"},
        "either": {"x-kubernetes-int-or-string": True},
        "ratio": {"type": "number"},
        "list": {"type": "array", "maxItems": 10, "items": ITEM},
        "lists": {"type": "array", "maxItems": 3, "items": {"type": "array", "items": NUMBER}},
        "map": {"type": "object", "maxProperties": 5, "additionalProperties": TEXT},
        "open": {"type": "object", "x-kubernetes-preserve-unknown-fields": True},
        "untyped": {"x-kubernetes-preserve-unknown-fields": True},
        "embedded": {
            "type": "object",
            "x-kubernetes-embedded-resource": True,
            "x-kubernetes-preserve-unknown-fields": True,
        },
    },
}


def with_rules(schema: Schema, *given: str | dict[str, Any]) -> Schema:
    rules = [{"rule": one} if isinstance(one, str) else one for one in given]
    return {**schema, "x-kubernetes-validations": rules}


def said(schema: Schema, *given: str | dict[str, Any]) -> list[str]:
    return [str(one) for one in rule_violations(parse(with_rules(schema, *given)), AT)]


def whole(rule: str) -> str:
    """A rule as Kubernetes prints its own form of one."""
    return (
        f'{{"Rule":{json_text(rule)},"Message":"","MessageExpression":"","Reason":null,"FieldPath":"",'
        '"OptionalOldSelf":null}'
    )


@pytest.mark.parametrize(
    "rule",
    [
        "self.n > 1 && self.s.startsWith('a')",
        "self.with__dash__dash == self.with__dot__dot",
        "self.with__underscores__two == 'x' && self.__namespace__ == 'y' && self.namespace == 'y'",
        "self.when < timestamp('2024-01-01T00:00:00Z') && self.when.getFullYear() > 2000",
        "self.long < duration('1h')",
        "self.raw == b'abc'",
        "self.either == 1 || self.either == '1' || int(self.either) > 2",
        "self.ratio < 2 && self.n < 2.5",
        "self.list.all(e, e.k != '')",
        "self.lists.all(l, l.size() > 0)",
        "self.map.all(k, self.map[k] != '')",
        "self.map.all(k, v, v != k)",
        "self.embedded.kind == 'Pod' && self.embedded.metadata.name == 'a'",
        "has(self.embedded.metadata.generateName)",
        "self.metadata.name == 'a' && self.kind == 'K' && self.apiVersion == 'v1'",
        "quantity('1Gi').isGreaterThan(quantity('1')) && isQuantity(self.s)",
        "isIP(self.s) && ip(self.s).family() == 4 && cidr('10.0.0.0/8').containsIP(self.s)",
        "url(self.s).getScheme() == 'https' && isURL(self.s)",
        "format.dns1123Label().validate(self.s).hasValue()",
        "format.named('uuid').hasValue() && !format.uuid().validate(self.s).hasValue()",
        "semver('1.2.3').isLessThan(semver('2.0.0')) && isSemver(self.s)",
        "self.?s.orValue('') == '' && self.?n.hasValue()",
        "sets.contains(['a', 'b'], self.list.map(e, e.k))",
        "[1, 2].sum() == 3 && [1, 2].isSorted() && self.list.map(e, size(e.k)).indexOf(1) == 1",
        "self == oldSelf && self.list == oldSelf.list",
    ],
)
def test_what_the_schema_declares_can_be_used(rule: str) -> None:
    schema = {**OBJECT, "properties": {k: _small(v) for k, v in OBJECT["properties"].items()}}

    assert said(schema, rule) == []


def _small(schema: Schema) -> Schema:
    return {**schema, "maxLength": 20} if schema.get("type") == "string" else schema


@pytest.mark.parametrize(
    ("rule", "column", "message"),
    [
        ("self.nope == 1", 5, "undefined field 'nope'"),
        ("has(self.nope)", 4, "undefined field 'nope'"),
        ("self.list.all(e, e.nope)", 19, "undefined field 'nope'"),
        ("self.open.x == 1", 10, "undefined field 'x'"),
        ("self.untyped == 1", 5, "undefined field 'untyped'"),
        ("self.metadata.labels == 1", 14, "undefined field 'labels'"),
        ("self.embedded.spec == 1", 14, "undefined field 'spec'"),
        ("self.n == 'a'", 8, "found no matching overload for '_==_' applied to '(int, string)'"),
        ("self.n + self.s == 1", 8,
         "found no matching overload for '_+_' applied to '(int, string)'"),
        ("self.when > '2024'", 11,
         "found no matching overload for '_>_' applied to '(timestamp, string)'"),
        ("self.s.x == 1", 7, "type 'string' does not support field selection"),
        ("self.n.all(x, true)", 5, "expression of type 'int' cannot be range of a comprehension "
         "(must be list, map, or dynamic)"),
        ("nothing(self)", 8, "undeclared reference to 'nothing' (in container '')"),
        ("other == 1", 1, "undeclared reference to 'other' (in container '')"),
        ("quantity('1') == 1", 15,
         "found no matching overload for '_==_' applied to '(kubernetes.Quantity, int)'"),
        ("self.n.startsWith('a')", 18,
         "found no matching overload for 'startsWith' applied to 'int.(string)'"),
        ("size(self.s, {'a': 1}) == 1", 5,
         "found no matching overload for 'size' applied to '(string, map(string, int))'"),
        ("true || self.s.trim().endsWith()", 31,
         "found no matching overload for 'endsWith' applied to 'string.()'"),
        ("['a', 'b'].sum() == 1", 15,
         "found no matching overload for 'sum' applied to 'list(string).()'"),
        ("['a'].indexOf(1) == 0", 14,
         "found no matching overload for 'indexOf' applied to 'list(string).(int)'"),
        ("[1].flatten() == [1]", 12,
         "found no matching overload for 'flatten' applied to 'list(int).()'"),
        ("duration(self.n) > self.long", 9,
         "found no matching overload for 'duration' applied to '(int)'"),
        ("optional.of(1) + 1 == 2", 16,
         "found no matching overload for '_+_' applied to '(optional_type(int), int)'"),
        ("ip(self.s).family == 4", 11, "type 'net.IP' does not support field selection"),
        ("quantity(self.s).sign() == 1", 22,
         "found no matching overload for 'sign' applied to 'kubernetes.Quantity.()'"),
        ("self.n && true", 5, "expected type 'bool' but found 'int'"),
        ("true || self.n + 1 > 2 || self.s.trim()", 38, "expected type 'bool' but found 'string'"),
        ("self.list.all(e, e.k)", 19, "expected type 'bool' but found 'string'"),
        ("has(self)", 5, "invalid argument to has() macro"),
        ("self.list.all(1, true)", 15, "argument must be a simple name"),
        ("self.list.map(1, 2) == []", 15, "argument is not an identifier"),
        ("true ? 1", 9, "Syntax error: mismatched input '<EOF>' expecting ':'"),
    ],
)  # fmt: skip
def test_what_it_does_not_is_refused_with_its_place(rule: str, column: int, message: str) -> None:
    found = said(OBJECT, rule)

    assert found == [
        f"{AT}.x-kubernetes-validations[0].rule: Invalid value: {whole(rule)}: compilation failed: "
        f"ERROR: <input>:1:{column}: {message}\n | {rule}\n | {'.' * (column - 1)}^"
    ]


def test_each_operand_that_is_no_bool_is_named() -> None:
    found = said(OBJECT, {"rule": "self.n &&\nself.s || nope", "message": "m"})[0]

    assert found.endswith(
        "ERROR: <input>:1:5: expected type 'bool' but found 'int'\n | self.n &&\n | ....^\n"
        "ERROR: <input>:2:5: expected type 'bool' but found 'string'\n | self.s || nope\n | ....^\n"
        "ERROR: <input>:2:11: undeclared reference to 'nope' (in container '')\n"
        " | self.s || nope\n | ..........^"
    )


@pytest.mark.parametrize(
    ("rule", "why"),
    [
        ("int('a') == self.n", "type conversion error from 'string' to 'int'"),
        ("int(dyn('a')) == self.n", "type conversion error from 'string' to 'int'"),
        ("uint(-1) == 1u", "unsigned integer overflow"),
        ("string(dyn([1])) == ''", "no such overload: string(list)"),
        ("bool('x') || 'a'.find('(') == ''", "type conversion error from 'string' to 'bool'"),
        (
            "self.n == 1 ? 'a'.find('(') == '' : true",
            "error parsing regexp: missing closing ): `(`",
        ),
    ],
)
def test_constants_that_cannot_be_converted_make_no_program(rule: str, why: str) -> None:
    assert said(OBJECT, rule)[0].endswith(f": program instantiation failed: {why}")


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"rule": "self.n"}, "cel expression must evaluate to a bool"),
        ({"rule": "1 +"}, "compilation failed: ERROR: <input>:1:4: Syntax error"),
        ({"rule": " "}, "].rule: Required value: rule is not specified"),
        ({"rule": "int('a')"}, "cel expression must evaluate to a bool"),
        ({"rule": "true", "messageExpression": "string(int('a'))"},
         "messageExpression instantiation failed: type conversion error from 'string' to 'int'"),
        ({"rule": "[1, 'a'] == [1]"}, "expected type 'int' but found 'string'"),
        ({"rule": "true", "message": "a\nb"}, "must not contain line breaks"),
        ({"rule": "true", "message": "  "}, "must be non-empty if specified"),
        ({"rule": "true ||\nfalse"}, "message must be specified if rule contains line breaks"),
        ({"rule": "true", "messageExpression": "1"}, "messageExpression must evaluate to a string"),
        ({"rule": "true", "messageExpression": "self.x"}, "messageExpression compilation failed: "
         "ERROR: <input>:1:5: undefined field 'x'"),
        ({"rule": "true", "messageExpression": " "},
         "].messageExpression: Required value: messageExpression must be non-empty if specified"),
        ({"rule": "oldSelf.?n.hasValue()", "optionalOldSelf": True,
          "messageExpression": "string(oldSelf.n)"},
         "found no matching overload for 'string' applied to '(optional_type(int))'"),
        ({"rule": "true", "reason": "X"}, "].reason: Unsupported value"),
        ({"rule": "true", "fieldPath": ".x"}, "must be a valid path"),
        ({"rule": "true", "optionalOldSelf": True}, "may not be set if oldSelf is not used"),
    ],
)  # fmt: skip
def test_a_rule_must_be_well_formed(given: dict[str, Any], message: str) -> None:
    assert message in said(OBJECT, given)[0]


def test_an_optional_former_value_is_typed() -> None:
    fine = {"rule": "!oldSelf.hasValue() || oldSelf.value().n < self.n", "optionalOldSelf": True}
    wrong = {"rule": "oldSelf.n < self.n && oldSelf == 1", "optionalOldSelf": True}

    assert said(OBJECT, fine) == []
    assert "found no matching overload" in said(OBJECT, wrong)[0]


def test_former_values_cannot_be_found_in_a_plain_list() -> None:
    items = with_rules(NUMBER, "self == oldSelf")
    keyed = {"x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["k"]}
    plain = {"type": "array", "maxItems": 3, "items": items}
    by_key = {
        "type": "array", "maxItems": 3, **keyed,
        "items": with_rules({"type": "object", "properties": {"k": NUMBER}}, "self == oldSelf"),
    }  # fmt: skip

    assert [str(one) for one in rule_violations(parse(plain), AT)] == [
        f'{AT}.items.x-kubernetes-validations[0].rule: Invalid value: "self == oldSelf": oldSelf '
        f"cannot be used on the uncorrelatable portion of the schema within {AT}"
    ]
    assert rule_violations(parse(by_key), AT) == []


def test_former_values_cannot_be_found_below_the_outermost_plain_list() -> None:
    text = {**TEXT, "maxLength": 5}
    rule = with_rules(text, {"rule": "self == oldSelf.orValue('')", "optionalOldSelf": True})
    atomic = {"type": "object", "x-kubernetes-map-type": "atomic", "properties": {"a": rule}}
    deep = {
        "type": "array",
        "maxItems": 2,
        "items": {"type": "array", "maxItems": 2, "items": rule},
    }

    assert str(rule_violations(parse(deep), AT)[-1]).endswith(f"schema within {AT}")
    assert rule_violations(parse(atomic), AT) == []


def test_a_rule_over_a_wrong_schema_is_not_read_but_others_are() -> None:
    schema = {
        "type": "object",
        "properties": {"a": with_rules(NUMBER, "self.x"), "b": with_rules(NUMBER, "self.y")},
    }
    wrong = [field_error.forbidden(f"{AT}.properties[a].uniqueItems", "not here")]

    found = rule_violations(parse(schema), AT, wrong=wrong)

    assert [error.field for error in found] == [
        f"{AT}.properties[b].x-kubernetes-validations[0].rule"
    ]
    assert rule_violations(parse(schema), AT, compiles=False) == []


NESTED = "self.l.all(x, self.l.all(y, x == y))"


def listed(**bounds: int) -> Schema:
    items = {"type": "array", "items": {"type": "string", "maxLength": 10}, **bounds}
    return {"type": "object", "properties": {"l": items}}


def test_costs_without_bounds_are_refused() -> None:
    advice = (
        "(try simplifying the rule, or adding maxItems, maxProperties, and maxLength where arrays, "
        "maps, and strings are declared)"
    )

    assert said(listed(maxItems=10), NESTED) == []
    assert said(listed(), NESTED) == [
        f"{AT}.x-kubernetes-validations[0].rule: Forbidden: estimated rule cost exceeds budget by "
        f"factor of more than 100x {advice}",
        f"{AT}.x-kubernetes-validations[0].rule: Forbidden: contributed to estimated rule cost "
        "total exceeding cost limit for entire OpenAPIv3 schema",
        f"{AT}: Forbidden: x-kubernetes-validations estimated rule cost total "
        f"for entire OpenAPIv3 schema exceeds budget by factor of more than 100x {advice}",
    ]


@pytest.mark.parametrize(
    ("rule", "factor"),
    [
        ("self.l.all(s, isIP(s))", "1.6x"),
        ("self.l.all(s, quantity(s).isInteger())", "1.8x"),
        ("self.l.all(s, ip.isCanonical(s))", "2.4x"),
        ("self.l.all(s, !format.dns1123Label().validate(s).hasValue())", "27.0x"),
        ("['a', self.l[0]].join('') == ''", "more than 100x"),
        ("('n ' + string(size(self.l))).contains('a')", "more than 100x"),
        ("self.l.all(s, ['a', 'b'].exists(o, o.contains(s)))", "5.2x"),
    ],
)
def test_texts_that_are_parsed_cost_by_their_length(rule: str, factor: str) -> None:
    schema = listed(maxItems=2_000_000)

    found = [one for one in said(schema, rule) if "estimated rule cost exceeds" in one]

    assert f"factor of {factor} " in found[0]


@pytest.mark.parametrize(
    ("items", "factor"), [(1300, "1.5x"), (1100, "1.089660x"), (3000, "8.1x"), (900, "")]
)
def test_the_factor_is_said(items: int, factor: str) -> None:
    # Kubernetes' sum: 3 + 6n + 9n² units for n items.
    found = said(listed(maxItems=items), NESTED)

    assert (f"budget by factor of {factor} (" in found[0]) if factor else not found


def test_a_rule_costs_as_often_as_its_place_can_occur() -> None:
    each = with_rules({"type": "string", "maxLength": 1000}, "self.contains('x')")
    few = {"type": "array", "maxItems": 10, "items": each}
    many = {"type": "array", "items": each}
    counted = {"type": "array", "items": with_rules(NUMBER, "self > 0 && self < 9")}

    assert rule_violations(parse(few), AT) == []
    assert "estimated rule cost exceeds budget" in str(rule_violations(parse(many), AT)[0])
    assert rule_violations(parse(counted), AT) == []  # cheap, however often


def test_many_rules_together_have_a_budget() -> None:
    rules = [f"self.l.all(x, self.l.all(y, x != y || {n} > 0))" for n in range(30)]

    found = said(listed(maxItems=800), *rules)

    assert len(found) == 5  # the four most expensive and the sum
    assert "exceeds budget by factor of" in found[-1]


def test_a_message_costs_too() -> None:
    expression = "self.l.map(x, self.l.map(y, self.l.map(z, x + y + z)[0])[0])[0]"
    rule = {"rule": "self.l.size() < 3", "messageExpression": expression}

    assert any("].messageExpression: Forbidden: estimated messageExpression cost exceeds" in one
               for one in said(listed(maxItems=2000), rule))  # fmt: skip


def test_without_the_library_a_definition_with_rules_is_refused(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(declared, "is_available", lambda: False)

    assert "without the extra `cel`" in said(OBJECT, "true")[0]
    assert rule_violations(parse(OBJECT), AT) == []


def test_errors_come_in_the_order_of_their_places() -> None:
    rule = "nothing.of(other)"

    (found,) = said(OBJECT, rule)

    assert found.split("ERROR: ")[1:] == [
        f"<input>:1:{column}: undeclared reference to '{name}' (in container '')\n | {rule}\n"
        f" | {'.' * (column - 1)}^" + ("\n" if name != "other" else "")
        for column, name in ((1, "nothing"), (11, "of"), (12, "other"))
    ]
