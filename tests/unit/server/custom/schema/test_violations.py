"""Which violations of a schema are told of one value, and in which order."""

from __future__ import annotations

from typing import Any

import pytest

from proreus.server.custom.schema.structural import parse
from proreus.server.custom.schema.validate import validate_object

Schema = dict[str, Any]
NIL = '<nil>: Invalid value: "": "v"'


def violations(schema: Schema, value: Any) -> list[str]:
    root = parse({"type": "object", "properties": {"v": schema}})
    return [str(error) for error in validate_object({"v": value}, root)]


def out_of_range(shown: str, what: str = "Checked") -> str:
    return f'<nil>: Invalid value: "": {what} value must be of type integer {shown} in v'


def of_type(wanted: str, found: str, at: str = "v") -> str:
    return f'{at}: Invalid value: "{found}": {at} in body must be of type {wanted}: "{found}"'


@pytest.mark.parametrize(
    ("schema", "value", "messages"),
    [
        ({"type": "string", "enum": ["a", "b"]}, 5,
         [of_type("string", "integer"), 'v: Unsupported value: 5: supported values: "a", "b"']),
        ({"type": "array", "items": {"type": "integer", "format": "int32"}}, [None],
         [of_type("integer", "null", "v[0]")]),
        ({"type": "string", "maxLength": 3, "pattern": "^a"}, "bbbb",
         ["v: Too long: may not be more than 3 bytes"]),
        ({"type": "string", "minLength": 3, "pattern": "^a"}, "b",
         ['v: Invalid value: "b": v in body should be at least 3 chars long']),
        ({"type": "integer", "minimum": 5, "multipleOf": 2}, 3,
         ["v: Invalid value: 3: v in body should be a multiple of 2",
          "v: Invalid value: 3: v in body should be greater than or equal to 5"]),
        ({"type": "array", "maxItems": 1, "items": {"type": "string"}}, [1, "a"],
         [of_type("string", "integer", "v[0]"), "v: Too many: 2: must have at most 1 item"]),
        ({"type": "object", "maxProperties": 1, "additionalProperties": {"type": "string"}},
         {"a": 1, "b": "x"},
         ["v: Too many: 2: must have at most 1 item", of_type("string", "integer", "v.a")]),
        ({"type": "object", "required": ["b"], "properties": {"a": {"type": "string"}}}, {"a": 1},
         [of_type("string", "integer", "v.a"), "v.b: Required value"]),
        ({"type": "object", "additionalProperties": False}, {"b": 1, "a": 1},
         ['v: Invalid value: "a": v.a in body is a forbidden property',
          'v: Invalid value: "b": v.b in body is a forbidden property']),
        ({"type": "integer"}, 2**64,
         [of_type("integer", "number"), out_of_range("(default format)")]),
        ({"type": "integer"}, 1.5,
         [of_type("integer", "number"), out_of_range("(default format)")]),
        ({"type": "integer", "format": "int32"}, 1.5,
         [of_type("int32", "float64"), out_of_range("with format int32")]),
        ({"type": "integer", "maximum": 2.5}, 3,
         [out_of_range("(default format)", "Maximum boundary"),
          "v: Invalid value: 3: v in body should be less than or equal to 2.5"]),
        ({"type": "number", "multipleOf": 0.5}, 1,
         ["v: Invalid value: 0: factor MultipleOf declared for v must be positive: 0"]),
        ({"type": "integer", "enum": [1, 2]}, 2.5,
         [of_type("integer", "number"), out_of_range("(default format)")]),
        ({"type": "string", "nullable": True, "enum": ["a", None]}, None,
         ['v: Unsupported value: null: supported values: "a", "null"']),
        ({"type": "integer"}, float(2**52), []),
        ({"type": "string", "format": "unheard-of"}, 1, [of_type("string", "integer")]),
        ({"type": "number", "format": "int32"}, 2**40, []),
        # Of a bound with a fraction, integers are compared with its whole part.
        ({"type": "number", "minimum": 1.5, "maximum": 3.5}, 1, []),
        ({"type": "number", "minimum": 1.5, "maximum": 3.5}, 4,
         ["v: Invalid value: 4: v in body should be less than or equal to 3"]),
        ({"type": "number", "maximum": 3.5}, 3.6,
         ["v: Invalid value: 3.6: v in body should be less than or equal to 3.5"]),
        ({"type": "number", "minimum": 0.5}, 0, []),
        # Numbers that Go holds as floats have an exponent from a million on.
        ({"type": "number", "maximum": 1000000}, 1500000,
         ["v: Invalid value: 1500000: v in body should be less than or equal to 1000000"]),
        ({"type": "number", "maximum": 1000000}, 1500000.5,
         ["v: Invalid value: 1.5000005e+06: v in body should be less than or equal to 1e+06"]),
        ({"type": "number", "multipleOf": 0.00002}, 0.00001,
         ["v: Invalid value: 1e-05: v in body should be a multiple of 2e-05"]),
        ({"type": "number", "maximum": 5}, 2**64,
         ["v: Invalid value: 1.8446744073709552e+19: v in body should be less than or equal to 5"]),
    ],
)  # fmt: skip
def test_all_that_applies_to_a_value_is_reported_in_order(
    schema: Schema, value: Any, messages: list[str]
) -> None:
    assert violations(schema, value) == messages


@pytest.mark.parametrize(
    ("junctors", "value", "messages"),
    [
        ({"allOf": [{"required": ["a"]}, {"required": ["b"]}]}, {},
         ["v.a: Required value", "v.b: Required value",
          f"{NIL} must validate all the schemas (allOf). None validated"]),
        ({"allOf": [{"required": ["a"]}, {"required": ["b"]}]}, {"a": "x"},
         ["v.b: Required value", f"{NIL} must validate all the schemas (allOf)"]),
        ({"anyOf": [{"required": ["a"]}, {"required": ["b"]}]}, {},
         [f"{NIL} must validate at least one schema (anyOf)", "v.a: Required value"]),
        ({"oneOf": [{"required": ["a"]}, {"required": ["b"]}]}, {},
         [f"{NIL} must validate one and only one schema (oneOf). Found none valid",
          "v.a: Required value"]),
        ({"not": {"required": ["a"]}}, {"a": "x"}, [f"{NIL} must not validate the schema (not)"]),
        ({"oneOf": [{"required": ["b"]}, {"properties": {"a": {"minLength": 3}}}]}, {"a": "x"},
         [f"{NIL} must validate one and only one schema (oneOf). Found none valid",
          'v.a: Invalid value: "x": v.a in body should be at least 3 chars long']),
        ({"allOf": [{"required": ["b"]}], "anyOf": [{"required": ["a"]}]}, {},
         [f"{NIL} must validate at least one schema (anyOf)", "v.a: Required value",
          "v.b: Required value", f"{NIL} must validate all the schemas (allOf). None validated"]),
    ],
)  # fmt: skip
def test_of_the_options_of_a_junctor_the_one_that_applies_most_is_reported(
    junctors: Schema, value: Any, messages: list[str]
) -> None:
    schema = {
        "type": "object",
        "properties": {"a": {"type": "string"}, "b": {"type": "string"}},
        **junctors,
    }
    assert violations(schema, value) == messages


def test_a_number_or_text_is_reported_by_both_types_and_by_its_options() -> None:
    schema = {
        "x-kubernetes-int-or-string": True,
        "anyOf": [{"type": "integer"}, {"type": "string"}],
    }
    assert violations(schema, True) == [
        of_type("integer,string", "boolean"),
        f"{NIL} must validate at least one schema (anyOf)",
        of_type("integer", "boolean"),
    ]
    assert violations(schema, 2) == violations(schema, "2") == []
