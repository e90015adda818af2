"""Pruning, defaults and validation by a schema."""

from __future__ import annotations

from typing import Any

import pytest

from proreus.server.custom.default import default
from proreus.server.custom.go_regexp import is_found
from proreus.server.custom.prune import prune, with_plain_numbers
from proreus.server.custom.structural import parse
from proreus.server.custom.validate import validate_object

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


def test_a_pattern_cannot_hold_up_the_server() -> None:
    pytest.importorskip("cel_expr_python.cel")
    schema = spec_of(f={"type": "string", "pattern": "^(a+)+$"})

    assert messages(schema, {"f": "a" * 50}) == []
    assert "should match '^(a+)+$'" in messages(schema, {"f": "a" * 50 + "b"})[0]


@pytest.mark.parametrize(
    ("pattern", "text", "is_there"),
    [
        (r"^([a-z]+\.)+[a-z]+$", "a.b.c", True),
        (r"^([a-z]+\.)+[a-z]+$", "a..c", False),
        (r"^\p{Lu}", "Éa", True),
        (r"^\p{Lu}", "éa", False),
        (r"^a*b*c*d*$", "aabbccdd", True),
        (r"^[a-z0-9]([-a-z0-9]*[a-z0-9])?$", "a-b", True),
    ],
)
def test_patterns_match_as_in_go(pattern: str, text: str, is_there: bool) -> None:
    pytest.importorskip("cel_expr_python.cel")

    assert is_found(pattern, text) is is_there
