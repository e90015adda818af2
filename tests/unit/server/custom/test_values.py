"""Pruning, defaults and validation by a schema."""

from __future__ import annotations

import copy
from typing import Any

import jsonschema_rs
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from proreus.server.custom.default import default
from proreus.server.custom.prune import prune, with_plain_numbers
from proreus.server.custom.structural import parse
from proreus.server.custom.validate import validate, validate_object

Schema = dict[str, Any]


def spec_of(**properties: Schema) -> Schema:
    spec = {"type": "object", "properties": properties}
    return {"type": "object", "properties": {"spec": spec}}


def messages(schema: Schema, spec: Any, old: Any = None) -> list[str]:
    parsed = parse(schema)
    former = {} if old is None else {"old": {"spec": old}}
    return [str(error) for error in validate_object({"spec": spec}, parsed, *former.values())]


def test_unknown_fields_go_and_are_named_in_order() -> None:
    schema = parse(spec_of(known={"type": "string"}, free={
        "type": "object", "x-kubernetes-preserve-unknown-fields": True}))  # fmt: skip
    obj = {"spec": {"x": 1, "known": "k", "free": {"any": [1]}}, "extra": 1, "kind": "T"}

    gone = prune(obj, schema)

    assert gone == ["extra", "spec.x"]
    assert obj == {"spec": {"known": "k", "free": {"any": [1]}}, "kind": "T"}


def test_defaults_reach_inside_of_defaults() -> None:
    inner = {"type": "object", "properties": {"a": {"type": "integer", "default": 1}}}
    obj: dict[str, Any] = {"spec": {"gone": None, "kept": None}}
    schema = parse(
        spec_of(
            deep={**inner, "default": {}},
            gone={"type": "string"},
            kept={"type": "string", "nullable": True},
        )
    )

    default(obj, schema, is_root=True)

    assert obj == {"spec": {"deep": {"a": 1}, "kept": None}}


def test_whole_numbers_lose_their_fraction() -> None:
    assert with_plain_numbers({"a": [2.0, 0.5, 1e21]}) == {"a": [2, 0.5, 1e21]}


@pytest.mark.parametrize(
    ("schema", "value", "message"),
    [
        ({"type": "integer"}, "x", 'must be of type integer: "string"'),
        ({"type": "string", "minLength": 2}, "a", "should be at least 2 chars long"),
        ({"type": "string", "maxLength": 2}, "abc", "Too long: may not be more than 2 bytes"),
        ({"type": "string", "pattern": "^x"}, "abc", "should match '^x'"),
        ({"type": "string", "enum": ["a"]}, "b", 'supported values: "a"'),
        ({"type": "integer", "multipleOf": 3}, 4, "should be a multiple of 3"),
        ({"type": "number", "maximum": 1, "exclusiveMaximum": True}, 1, "should be less than 1"),
        ({"type": "string", "format": "ipv4"}, "x", 'must be of type ipv4: "x"'),
        ({"type": "integer", "format": "int32"}, 2**31, "with format int32 in spec.f"),
        ({"x-kubernetes-int-or-string": True}, 1.5, "must be of type integer,string"),
        ({"type": "string", "anyOf": [{"enum": ["a"]}, {"enum": ["b"]}]}, "c", "(anyOf)"),
        ({"type": "string", "oneOf": [{"minLength": 1}, {"maxLength": 3}]}, "c", "(oneOf)"),
        ({"type": "string", "not": {"enum": ["c"]}}, "c", "must not validate the schema (not)"),
    ],
)
def test_a_violation_is_worded_as_in_kubernetes(schema: Schema, value: Any, message: str) -> None:
    found = messages(spec_of(f=schema), {"f": value})

    assert found
    assert message in found[0]


def test_what_was_invalid_before_may_stay() -> None:
    schema = spec_of(a={"type": "string", "maxLength": 3}, b={"type": "string"})

    assert messages(schema, {"a": "too long", "b": "new"}, {"a": "too long", "b": "old"}) == []
    assert messages(schema, {"a": "longer still"}, {"a": "too long"}) != []


def test_items_of_a_map_list_are_compared_by_key() -> None:
    item = {
        "type": "object",
        "properties": {"name": {"type": "string"}, "port": {"type": "integer", "maximum": 9}},
    }
    schema = spec_of(l={
        "type": "array", "items": item, "x-kubernetes-list-type": "map",
        "x-kubernetes-list-map-keys": ["name"]})  # fmt: skip
    old = {"l": [{"name": "a", "port": 99}]}

    assert messages(schema, {"l": [{"name": "b", "port": 1}, {"name": "a", "port": 99}]}, old) == []
    found = messages(schema, {"l": [{"name": "a", "port": 98}]}, old)
    assert "spec.l[0].port" in found[0]


# --- random schemas and values

_SCALARS = st.one_of(
    st.fixed_dictionaries(
        {"type": st.just("string")},
        optional={
            "minLength": st.integers(0, 3),
            "maxLength": st.integers(2, 5),
            "enum": st.lists(st.sampled_from(["a", "bb", "ccc"]), min_size=1, unique=True),
            "pattern": st.sampled_from(["^a", "b", "^[a-c]*$"]),
        },
    ),
    st.fixed_dictionaries(
        {"type": st.sampled_from(["integer", "number"])},
        optional={
            "minimum": st.integers(-3, 3),
            "maximum": st.integers(-1, 5),
            "multipleOf": st.integers(1, 3),
        },
    ),
    st.just({"type": "boolean"}),
)


def _containers(inner: st.SearchStrategy[Schema]) -> st.SearchStrategy[Schema]:
    keys = st.sampled_from(["a", "b", "c"])
    objects = st.builds(
        lambda properties, required: {
            "type": "object",
            "properties": properties,
            "required": sorted(required & properties.keys()),
        },
        st.dictionaries(keys, inner, max_size=3),
        st.frozensets(keys),
    )
    lists = st.builds(
        lambda items, bounds: {"type": "array", "items": items, **bounds},
        inner,
        st.sampled_from([{}, {"minItems": 1}, {"maxItems": 2}]),
    )
    maps = st.builds(
        lambda values, bounds: {"type": "object", "additionalProperties": values, **bounds},
        inner,
        st.sampled_from([{}, {"minProperties": 1}, {"maxProperties": 1}]),
    )
    return st.one_of(objects, lists, maps)


SCHEMAS = st.recursive(_SCALARS, _containers, max_leaves=8)
VALUES = st.recursive(
    st.one_of(
        st.booleans(),
        st.integers(-5, 6),
        st.sampled_from(["", "a", "bb", "ccc", "dddd"]),
        st.sampled_from([0.5, 1.5]),
    ),
    lambda inner: st.one_of(
        st.lists(inner, max_size=3),
        st.dictionaries(st.sampled_from(["a", "b", "c", "d"]), inner, max_size=3),
    ),
    max_leaves=8,
)


@given(SCHEMAS, VALUES)
@settings(max_examples=300, deadline=None)
def test_validation_agrees_with_a_json_schema_library(schema: Schema, value: Any) -> None:
    ours = not validate(value, parse(schema))
    theirs = jsonschema_rs.validator_for(schema).is_valid(value)

    assert ours == theirs


def _with_defaults(schema: Schema, value: Any) -> Schema:
    """The schema where some fields have defaults that fit."""
    if "properties" in schema:
        fields = {key: _with_defaults(field, value) for key, field in schema["properties"].items()}
        return {**schema, "properties": fields}
    fitting = {"string": "a", "integer": 1, "boolean": True, "number": 1}
    if schema["type"] in fitting:
        return {**schema, "default": fitting[schema["type"]]}
    return schema


@given(SCHEMAS, VALUES)
@settings(max_examples=300, deadline=None)
def test_pruning_and_defaulting_again_changes_nothing(schema: Schema, value: Any) -> None:
    parsed = parse({"type": "object", "properties": {"spec": _with_defaults(schema, value)}})
    obj = {"spec": value}
    default(obj, parsed, is_root=True)
    prune(obj, parsed)
    once = copy.deepcopy(obj)

    default(obj, parsed, is_root=True)
    gone = prune(obj, parsed)

    assert obj == once
    assert gone == []
