"""Validation of the keywords in a definition's schemas (server.md §9.1).

Leaves, which are most of a large schema, are passed over without naming their place.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from proreus.api import field_error
from proreus.api.field_error import FieldError
from proreus.lazy_dataclass import dataclass
from proreus.server.custom.definition.internal_form import printed_items
from proreus.server.custom.definition.structural_rules import (
    structure_violations,
    unsupported_keyword,
)
from proreus.server.custom.schema.structural import TYPE_FIELDS

Schema = Mapping[str, Any]
JUNCTORS = ("allOf", "oneOf", "anyOf")
_TYPES = frozenset(("array", "boolean", "integer", "number", "object", "string"))
# A typed schema without these has nothing below it, and nothing that its keywords could get wrong.
_KEYWORDS = frozenset((
    "properties", "additionalProperties", "items", "not", *JUNCTORS, "default", "id", "$ref",
    "additionalItems", "patternProperties", "definitions", "dependencies", "uniqueItems",
    "x-kubernetes-embedded-resource", "x-kubernetes-preserve-unknown-fields",
    "x-kubernetes-map-type", "x-kubernetes-list-type", "x-kubernetes-list-map-keys",
))  # fmt: skip
_LIST_TYPES = ("atomic", "set", "map")
_MAP_TYPES = ("atomic", "granular")


@dataclass(frozen=True, slots=True)
class _Context:
    """``no_defaults``: where in a resource's own fields it is, if defaults are refused there."""

    is_root: bool = False
    in_meta: bool = False
    no_defaults: str = ""


def schema_violations(schema: Schema, at: str) -> list[FieldError]:
    """Everything wrong with a version's schema but its defaults and rules."""
    if reason := unsupported_keyword(schema):
        return keyword_violations(schema, at) or [field_error.invalid(at, "", reason)]
    return structure_violations(schema, at) + keyword_violations(schema, at)


def keyword_violations(schema: Schema, at: str) -> list[FieldError]:
    return list(_violations(schema, at, _Context(is_root=True)))


def _violations(schema: Schema, at: str, around: _Context) -> Iterator[FieldError]:
    yield from _never_allowed(schema, at, around)
    if _KEYWORDS.isdisjoint(schema):
        return
    if schema.get("uniqueItems"):
        yield field_error.forbidden(
            f"{at}.uniqueItems",
            "uniqueItems cannot be set to true since the runtime complexity becomes quadratic",
        )
    more, fields = schema.get("additionalProperties"), schema.get("properties")
    if more is not None and more is not True and fields:
        yield field_error.forbidden(
            f"{at}.additionalProperties", "additionalProperties and properties are mutual exclusive"
        )
    yield from _below(schema, at, around)
    if schema.get("x-kubernetes-preserve-unknown-fields") is False:
        yield field_error.invalid(
            f"{at}.x-kubernetes-preserve-unknown-fields", False, "must be true or undefined"
        )
    yield from _map_type(schema, at)
    yield from _list_type(schema, at)


def _never_allowed(schema: Schema, at: str, around: _Context) -> Iterator[FieldError]:
    kind = schema.get("type")
    if kind and kind not in _TYPES:
        yield field_error.not_supported(f"{at}.type", kind, sorted(_TYPES))
    if schema.get("default") is not None and around.no_defaults:
        yield field_error.forbidden(f"{at}.default", f"must not be set {around.no_defaults}")
    for word, is_given in (
        ("id", bool(schema.get("id"))),
        ("additionalItems", schema.get("additionalItems") is not None),
        ("patternProperties", bool(schema.get("patternProperties"))),
        ("definitions", bool(schema.get("definitions"))),
        ("dependencies", schema.get("dependencies") is not None),
        ("$ref", schema.get("$ref") is not None),
    ):
        if is_given:
            yield field_error.forbidden(f"{at}.{word}", f"{word} is not supported")
    if kind == "null":
        text = "type cannot be set to null, use nullable as an alternative"
        yield field_error.forbidden(f"{at}.type", text)
    if isinstance(schema.get("items"), list):
        yield field_error.forbidden(f"{at}.items", "items must be a schema object and not an array")
    if around.in_meta and schema.get("x-kubernetes-embedded-resource"):
        place = f"{at}.x-kubernetes-embedded-resource"
        yield field_error.forbidden(place, "must not be used inside of resource meta")


def _below(schema: Schema, at: str, around: _Context) -> Iterator[FieldError]:
    inside = replace(around, is_root=False) if around.is_root else around
    if isinstance(more := schema.get("additionalProperties"), dict):
        values = inside
        if inside.in_meta:
            why = "inside additionalProperties applying to object metadata"
            values = replace(inside, no_defaults=why)
        yield from _violations(more, f"{at}.additionalProperties", values)
    is_resource = around.is_root or bool(schema.get("x-kubernetes-embedded-resource"))
    for key, child in (schema.get("properties") or {}).items():
        field = inside
        if is_resource and key in TYPE_FIELDS:
            field = replace(inside, in_meta=True)
            if around.is_root:
                field = replace(field, no_defaults=f"in top-level {key}")
        elif _KEYWORDS.isdisjoint(child) and child.get("type") in _TYPES:
            continue
        yield from _violations(child, f"{at}.properties[{key}]", field)
    if isinstance(schema.get("not"), dict):
        yield from _violations(schema["not"], f"{at}.not", inside)
    for word in JUNCTORS:
        for index, part in enumerate(schema.get(word) or ()):
            yield from _violations(part, f"{at}.{word}[{index}]", inside)
    yield from _refused_below(schema, at, inside)


def _refused_below(schema: Schema, at: str, inside: _Context) -> Iterator[FieldError]:
    """Also what stands below keywords that are refused themselves."""
    for key, child in (schema.get("definitions") or {}).items():
        yield from _violations(child, f"{at}.definitions[{key}]", inside)
    items = schema.get("items")
    if isinstance(items, dict):
        yield from _violations(items, f"{at}.items", inside)
    elif isinstance(items, list):
        for index, child in enumerate(items):
            yield from _violations(child, f"{at}.items[{index}]", inside)
    for key, child in (schema.get("dependencies") or {}).items():
        if isinstance(child, dict):
            yield from _violations(child, f"{at}.dependencies[{key}]", inside)


def _map_type(schema: Schema, at: str) -> Iterator[FieldError]:
    kind = schema.get("x-kubernetes-map-type")
    if kind is None:
        return
    yield from _must_be("object", schema, at, "x-kubernetes-map-type")
    if kind not in _MAP_TYPES:
        yield field_error.not_supported(f"{at}.x-kubernetes-map-type", kind, _MAP_TYPES)


def _must_be(wanted: str, schema: Schema, at: str, word: str) -> Iterator[FieldError]:
    kind, text = schema.get("type"), f"must be {wanted} if {word} is specified"
    if not kind:
        yield field_error.required(f"{at}.type", text)
    elif kind != wanted:
        yield field_error.invalid(f"{at}.type", kind, text)


def _list_type(schema: Schema, at: str) -> Iterator[FieldError]:
    kind, keys = schema.get("x-kubernetes-list-type"), schema.get("x-kubernetes-list-map-keys")
    items, place = schema.get("items"), f"{at}.x-kubernetes-list-type"
    if kind is not None and schema.get("type") != "array":
        yield from _must_be("array", schema, at, "x-kubernetes-list-type")
    elif kind == "set" and isinstance(items, dict):
        yield from _atomic_items(items, f"{at}.items")
    if kind is not None and kind not in _LIST_TYPES:
        yield field_error.not_supported(place, kind, _LIST_TYPES)
    if keys and kind != "map":
        text = "must be map if x-kubernetes-list-map-keys is non-empty"
        is_missing = kind is None
        yield (
            field_error.required(place, text)
            if is_missing
            else field_error.invalid(place, kind, text)
        )
    if kind == "map":
        yield from _map_keys(items, keys or [], at)
    if kind in ("map", "set") and isinstance(items, dict) and items.get("nullable"):
        text = f"cannot be nullable when x-kubernetes-list-type is {kind}"
        yield field_error.forbidden(f"{at}.items.nullable", text)
    if kind == "map" and isinstance(items, dict):
        yield from _certain_keys(items, keys or [], f"{at}.items")


def _atomic_items(items: Schema, at: str) -> Iterator[FieldError]:
    """Only what is compared whole can be a member of a set."""
    text = "must be atomic as item of a list with x-kubernetes-list-type=set"
    given = items.get("x-kubernetes-list-type")
    if items.get("type") == "array" and given not in (None, "atomic"):
        yield field_error.invalid_json(f"{at}.x-kubernetes-list-type", given, text)
    if items.get("type") == "object" and items.get("x-kubernetes-map-type") != "atomic":
        yield field_error.invalid_json(f"{at}.x-kubernetes-map-type", given, text)


def _map_keys(items: Any, keys: list[str], at: str) -> Iterator[FieldError]:
    keys_at = f"{at}.x-kubernetes-list-map-keys"
    if not keys:
        yield field_error.required(keys_at, "must not be empty if x-kubernetes-list-type is map")
    if items is None:
        text = "must have a schema if x-kubernetes-list-type is map"
        yield field_error.required(f"{at}.items", text)
    elif not isinstance(items, dict):
        text = "must only have a single schema if x-kubernetes-list-type is map"
        yield field_error.invalid(f"{at}.items", printed_items(items), text)
    elif (kind := items.get("type") or "") != "object":
        text = "must be object if parent array's x-kubernetes-list-type is map"
        yield field_error.invalid(f"{at}.items.type", kind, text)
    else:
        yield from _key_names(items.get("properties") or {}, keys, at, keys_at)


def _key_names(fields: Schema, keys: list[str], at: str, keys_at: str) -> Iterator[FieldError]:
    for index, key in enumerate(keys):
        field = fields.get(key)
        if field is None:
            text = "entries must all be names of item properties"
            yield field_error.invalid(keys_at, keys, text)
        elif field.get("type") in ("array", "object"):
            place = f"{at}.items.properties[{key}].type"
            text = "must be a scalar type if parent array's x-kubernetes-list-type is map"
            yield field_error.invalid(place, "object", text)
        if key in keys[:index]:
            yield field_error.invalid(keys_at, keys, "must not contain duplicate entries")


def _certain_keys(items: Schema, keys: list[str], at: str) -> Iterator[FieldError]:
    """Every item of a map has its keys."""
    required, fields = items.get("required") or (), items.get("properties") or {}
    for key in keys:
        field, place = fields.get(key), f"{at}.properties[{key}]"
        if field is None:
            continue
        known = "this property is in x-kubernetes-list-map-keys, so it"
        if key not in required and field.get("default") is None:
            text = f"{known} must have a default or be a required property"
            yield field_error.required(f"{place}.default", text)
        if field.get("nullable"):
            yield field_error.forbidden(f"{place}.nullable", f"{known} cannot be nullable")
