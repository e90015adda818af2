"""Random schemas and values: validation agrees with a JSON Schema library, pruning and defaulting
come to rest.
"""

from __future__ import annotations

import copy
from typing import Any

import jsonschema_rs
from hypothesis import given
from hypothesis import strategies as st

from proreus.server.custom.definition.schema_rules import schema_violations
from proreus.server.custom.schema.default import default
from proreus.server.custom.schema.prune import prune
from proreus.server.custom.schema.structural import parse
from proreus.server.custom.schema.validate import validate

Schema = dict[str, Any]
KEYS = st.sampled_from(["a", "b", "c"])
TEXTS = st.sampled_from(["", "a", "bb", "ccc", "dddd", "é", "a\nb"])
SCALARS = st.one_of(
    st.fixed_dictionaries(
        {"type": st.just("string")},
        optional={
            "minLength": st.integers(0, 3),
            "maxLength": st.integers(2, 5),
            "enum": st.lists(TEXTS, min_size=1, unique=True),
            "pattern": st.sampled_from(["^a", "b", "^[a-c]*$", "^(bb|ccc)$"]),
        },
    ),
    st.fixed_dictionaries(
        {"type": st.sampled_from(["integer", "number"])},
        optional={
            "minimum": st.integers(-3, 3),
            "maximum": st.integers(-1, 5),
            "multipleOf": st.integers(1, 3),
            "enum": st.lists(st.integers(-2, 4), min_size=1, unique=True),
        },
    ),
    st.just({"type": "boolean"}),
)


def _without_types(schema: Schema) -> Schema:
    """What a junctor may say: value checks, no types."""
    found = {key: value for key, value in schema.items() if key not in ("type", "nullable")}
    if "properties" in found:
        fields = found["properties"].items()
        found["properties"] = {key: _without_types(field) for key, field in fields}
    if "items" in found:
        found["items"] = _without_types(found["items"])
    found.pop("additionalProperties", None)
    return found


def _object(properties: dict[str, Schema], required: frozenset[str]) -> Schema:
    found: Schema = {"type": "object", "properties": properties}
    named = sorted(required & properties.keys())
    return {**found, "required": named} if named else found


def _joined(schema: Schema, word: str, parts: list[Schema]) -> Schema:
    plain = [_without_types(part) for part in parts if part["type"] == schema["type"]]
    if not plain:
        return schema
    return {**schema, word: plain[0] if word == "not" else plain}


def _containers(inner: st.SearchStrategy[Schema]) -> st.SearchStrategy[Schema]:
    bounds = st.sampled_from([{}, {"min": 1}, {"max": 2}, {"min": 1, "max": 1}])
    return st.one_of(
        st.builds(_object, st.dictionaries(KEYS, inner, max_size=3), st.frozensets(KEYS)),
        st.builds(
            lambda items, most: {
                "type": "array", "items": items, **{f"{k}Items": v for k, v in most.items()},
            },
            inner, bounds,
        ),
        st.builds(
            lambda values, most: {
                "type": "object", "additionalProperties": values,
                **{f"{k}Properties": v for k, v in most.items()},
            },
            inner, bounds,
        ),
        st.builds(
            _joined, inner, st.sampled_from(["allOf", "anyOf", "oneOf", "not"]),
            st.lists(SCALARS, min_size=1, max_size=3),
        ),
    )  # fmt: skip


SCHEMAS = st.recursive(SCALARS, _containers, max_leaves=10)
VALUES = st.recursive(
    st.one_of(st.booleans(), st.integers(-5, 6), TEXTS, st.sampled_from([0.5, 1.5, 2.25])),
    lambda inner: st.one_of(
        st.lists(inner, max_size=3),
        st.dictionaries(st.sampled_from(["a", "b", "c", "d"]), inner, max_size=3),
    ),
    max_leaves=8,
)


def fitting(schema: Schema) -> st.SearchStrategy[Any]:
    """Values that have the right shape, so that more than types is looked at."""
    match schema["type"]:
        case "object" if "additionalProperties" in schema:
            return st.dictionaries(KEYS, fitting(schema["additionalProperties"]), max_size=3)
        case "object":
            fields = {key: fitting(one) for key, one in schema.get("properties", {}).items()}
            return st.fixed_dictionaries({}, optional=fields)
        case "array":
            return st.lists(fitting(schema["items"]), max_size=3)
        case "string":
            return TEXTS
        case "boolean":
            return st.booleans()
        case "integer":
            return st.integers(-5, 6)
        case _:
            return st.integers(-5, 6) | st.sampled_from([0.5, 1.5])


@st.composite
def schemas_with_values(draw: st.DrawFn) -> tuple[Schema, Any]:
    schema = draw(SCHEMAS)
    return schema, draw(fitting(schema) if draw(st.integers(0, 3)) else VALUES)


@given(schemas_with_values())
def test_validation_agrees_with_a_json_schema_library(drawn: tuple[Schema, Any]) -> None:
    schema, value = drawn

    ours = not validate(value, parse(schema))
    theirs = jsonschema_rs.validator_for(schema).is_valid(value)

    assert ours == theirs


def _with_defaults(schema: Schema, draw: st.DrawFn) -> Schema:
    """The schema where some places have defaults of the right shape."""
    found = dict(schema)
    if "properties" in found:
        fields = found["properties"].items()
        found["properties"] = {key: _with_defaults(field, draw) for key, field in fields}
    for word in ("items", "additionalProperties"):
        if word in found:
            found[word] = _with_defaults(found[word], draw)
    if draw(st.booleans()):
        found["default"] = draw(fitting(schema))
    if draw(st.integers(0, 3)) == 0:
        found["nullable"] = True
    if found["type"] == "object" and draw(st.integers(0, 4)) == 0:
        found["x-kubernetes-preserve-unknown-fields"] = True
    return found


NULLS = st.recursive(
    VALUES | st.none(),
    lambda inner: st.dictionaries(KEYS, inner, max_size=3) | st.lists(inner, max_size=2),
    max_leaves=6,
)


@st.composite
def defaulted(draw: st.DrawFn) -> tuple[Schema, Any]:
    schema = _with_defaults(draw(SCHEMAS), draw)
    return schema, draw(fitting(schema) if draw(st.booleans()) else NULLS)


@given(defaulted())
def test_pruning_and_defaulting_come_to_rest(drawn: tuple[Schema, Any]) -> None:
    schema, value = drawn
    parsed = parse({"type": "object", "properties": {"spec": schema}})
    obj = {"spec": value, "unknown": value}

    prune(obj, parsed)
    default(obj, parsed)
    once = copy.deepcopy(obj)
    gone = prune(obj, parsed)
    default(obj, parsed)

    assert gone == []
    assert obj == once
    assert "unknown" not in obj


@given(SCHEMAS)
def test_schemas_made_here_are_structural(schema: Schema) -> None:
    whole = {"type": "object", "properties": {"spec": schema}}

    assert schema_violations(whole, "s") == []
