"""Which schemas a definition may have: known keywords only, and structural (spec/server §9.1).

Two passes, as Kubernetes has them: keywords first; the structure is judged only if these are fine.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from proreus.api import field_error
from proreus.api.field_error import FieldError
from proreus.server.custom.go_regexp import regexp_error

Schema = Mapping[str, Any]
_UNSUPPORTED = ("definitions", "dependencies", "patternProperties", "additionalItems", "id")
_JUNCTORS = ("allOf", "anyOf", "oneOf")
# A schema without these has nothing below it, and nothing that its keywords could get wrong:
# most of a large schema is such leaves.
_BELOW = frozenset(("properties", "additionalProperties", "items", "not", *_JUNCTORS))
_JUDGED = _BELOW | {
    "uniqueItems", "$ref", "pattern", "x-kubernetes-list-type", "x-kubernetes-list-map-keys",
    "x-kubernetes-map-type", *_UNSUPPORTED,
}  # fmt: skip
_LIST_TYPES = ("atomic", "set", "map")
_MAP_TYPES = ("granular", "atomic")
_EMPTY, _UNDEFINED, _FALSE = "empty", "undefined", "false"
# What a junctor may not say, and what the error says it must be.
_NOT_IN_JUNCTORS = {
    "additionalProperties": _UNDEFINED,
    "type": _EMPTY,
    "title": _EMPTY,
    "description": _EMPTY,
    "default": _UNDEFINED,
    "nullable": _FALSE,
    "x-kubernetes-preserve-unknown-fields": _UNDEFINED,
    "x-kubernetes-embedded-resource": _FALSE,
    "x-kubernetes-int-or-string": _FALSE,
    "x-kubernetes-list-map-keys": _EMPTY,
    "x-kubernetes-list-type": _UNDEFINED,
    "x-kubernetes-map-type": _UNDEFINED,
}


def schema_violations(schema: Schema, at: str) -> list[FieldError]:
    """Everything wrong with a version's schema but its defaults and rules."""
    found = list(_keywords(schema, at))
    if schema.get("nullable"):
        found.append(field_error.forbidden(f"{at}.nullable", "nullable cannot be true at the root"))
    return found or list(_root(schema, at))


def children(schema: Schema, at: str) -> Iterator[tuple[Schema, str]]:
    """The schemas right below one, with their places; junctors are not among them."""
    for key, child in (schema.get("properties") or {}).items():
        if isinstance(child, dict):
            yield child, f"{at}.properties[{key}]"
    if isinstance(more := schema.get("additionalProperties"), dict):
        yield more, f"{at}.additionalProperties"
    if isinstance(items := schema.get("items"), dict):
        yield items, f"{at}.items"


def _parts(schema: Schema, at: str) -> Iterator[tuple[Schema, str]]:
    for word in _JUNCTORS:
        for index, part in enumerate(schema.get(word) or ()):
            yield part, f"{at}.{word}[{index}]"
    if isinstance(schema.get("not"), dict):
        yield schema["not"], f"{at}.not"


def _keywords(schema: Schema, at: str) -> Iterator[FieldError]:
    if _JUDGED.isdisjoint(schema):
        return
    if schema.get("uniqueItems"):
        yield field_error.forbidden(
            f"{at}.uniqueItems",
            "uniqueItems cannot be set to true since the runtime complexity becomes quadratic",
        )
    if schema.get("$ref"):
        yield field_error.forbidden(f"{at}.$ref", "$ref is not supported")
    for word in _UNSUPPORTED:
        if schema.get(word) not in (None, {}, ""):
            yield field_error.forbidden(f"{at}.{word}", f"{word} is not supported")
    more = schema.get("additionalProperties")
    if more is not None and schema.get("properties"):
        yield field_error.forbidden(
            f"{at}.additionalProperties", "additionalProperties and properties are mutual exclusive"
        )
    elif more is False:
        yield field_error.forbidden(
            f"{at}.additionalProperties", "additionalProperties cannot be set to false"
        )
    if isinstance(schema.get("items"), list):
        yield field_error.forbidden(f"{at}.items", "items must be a schema object and not an array")
    yield from _pattern(schema, at)
    yield from _list_type(schema, at)
    yield from _map_type(schema, at)
    for child, place in children(schema, at):
        yield from _keywords(child, place)
    for child, place in _parts(schema, at):
        yield from _keywords(child, place)


def _pattern(schema: Schema, at: str) -> Iterator[FieldError]:
    text = schema.get("pattern")
    if text and (why := regexp_error(text)):
        yield field_error.invalid(
            f"{at}.pattern", text, f"must be a valid regular expression, but isn't: {why}"
        )


def _list_type(schema: Schema, at: str) -> Iterator[FieldError]:
    kind, keys = schema.get("x-kubernetes-list-type"), schema.get("x-kubernetes-list-map-keys")
    type_at, keys_at = f"{at}.x-kubernetes-list-type", f"{at}.x-kubernetes-list-map-keys"
    if kind is not None and kind not in _LIST_TYPES:
        yield field_error.not_supported(type_at, kind, _LIST_TYPES)
        return
    if kind is not None and schema.get("type") != "array":
        yield field_error.invalid(
            f"{at}.type",
            schema.get("type") or "",
            "must be array if x-kubernetes-list-type is specified",
        )
        return
    if keys and kind != "map":
        yield field_error.invalid(
            type_at, kind, "must be map if x-kubernetes-list-map-keys is non-empty"
        )
    items = schema.get("items")
    if not isinstance(items, dict):
        return
    if kind == "set" and items.get("type") in ("object", "array"):
        yield from _atomic_items(items, f"{at}.items")
    if kind == "map":
        yield from _map_keys(items, keys or [], f"{at}.items", keys_at)


def _atomic_items(items: Schema, at: str) -> Iterator[FieldError]:
    word = "x-kubernetes-map-type" if items["type"] == "object" else "x-kubernetes-list-type"
    given = items.get(word)
    fine = ("atomic",) if items["type"] == "object" else ("atomic", None)
    if given not in fine:
        yield field_error.invalid(
            f"{at}.{word}",
            given,
            "must be atomic as item of a list with x-kubernetes-list-type=set",
        )


def _map_keys(items: Schema, keys: list[str], at: str, keys_at: str) -> Iterator[FieldError]:
    if items.get("type") != "object":
        yield field_error.invalid(
            f"{at}.type",
            items.get("type") or "",
            "must be object if parent array's x-kubernetes-list-type is map",
        )
        return
    if not keys:
        yield field_error.required(keys_at, "must not be empty if x-kubernetes-list-type is map")
        return
    fields = items.get("properties") or {}
    required = items.get("required") or ()
    for key in dict.fromkeys(keys):
        field = fields.get(key)
        if field is None:
            yield field_error.invalid(keys_at, keys, "entries must all be names of item properties")
            continue
        if field.get("type") in ("array", "object"):
            yield field_error.invalid(
                f"{at}.properties[{key}].type",
                field["type"],
                "must be a scalar type if parent array's x-kubernetes-list-type is map",
            )
        if key not in required and field.get("default") is None:
            yield field_error.required(
                f"{at}.properties[{key}].default",
                "this property is in x-kubernetes-list-map-keys, so it must have a default or be "
                "a required property",
            )
        if field.get("nullable"):
            yield field_error.forbidden(
                f"{at}.properties[{key}].nullable",
                "this property is in x-kubernetes-list-map-keys, so it cannot be nullable",
            )
    if len(set(keys)) < len(keys):
        yield field_error.invalid(keys_at, keys, "must not contain duplicate entries")


def _map_type(schema: Schema, at: str) -> Iterator[FieldError]:
    kind = schema.get("x-kubernetes-map-type")
    if kind is None:
        return
    if kind not in _MAP_TYPES:
        yield field_error.not_supported(f"{at}.x-kubernetes-map-type", kind, _MAP_TYPES)
    elif schema.get("type") != "object":
        yield field_error.invalid(
            f"{at}.type",
            schema.get("type") or "",
            "must be object if x-kubernetes-map-type is specified",
        )


def _root(schema: Schema, at: str) -> Iterator[FieldError]:
    kind = schema.get("type")
    if not kind:
        yield field_error.required(f"{at}.type", "must not be empty at the root")
    elif kind != "object":
        yield field_error.invalid(f"{at}.type", kind, "must be object at the root")
    if schema.get("additionalProperties") is not None:
        yield field_error.forbidden(f"{at}.additionalProperties", "must not be used at the root")
    yield from _resource(schema, at, "top-level ")
    yield from _structure(schema, at, is_root=True)


def _structure(schema: Schema, at: str, *, is_root: bool = False) -> Iterator[FieldError]:
    preserves = schema.get("x-kubernetes-preserve-unknown-fields")
    if preserves is False:
        yield field_error.invalid(
            f"{at}.x-kubernetes-preserve-unknown-fields", False, "must be true or undefined"
        )
    if not is_root:
        yield from _typed(schema, at)
    if schema.get("type") == "array" and not isinstance(schema.get("items"), dict):
        yield field_error.required(f"{at}.items", "must be specified")
    if schema.get("x-kubernetes-embedded-resource") and not is_root:
        yield from _resource(schema, at, "")
        if not schema.get("properties") and not preserves:
            yield field_error.required(
                f"{at}.properties",
                "must not be empty if x-kubernetes-embedded-resource is true without "
                "x-kubernetes-preserve-unknown-fields",
            )
    if _BELOW.isdisjoint(schema):
        return
    for part, place in _parts(schema, at):
        if not _is_int_or_string(schema, part):
            yield from _junctor(part, place)
    if is_root:
        yield from _declared(schema, at)
    for child, place in children(schema, at):
        yield from _structure(child, place)


def _typed(schema: Schema, at: str) -> Iterator[FieldError]:
    kind = schema.get("type")
    if schema.get("x-kubernetes-int-or-string"):
        if kind:
            yield field_error.invalid(
                f"{at}.type", kind, "must be empty if x-kubernetes-int-or-string is true"
            )
        return
    if kind or schema.get("x-kubernetes-preserve-unknown-fields"):
        return
    what = "array items" if at.endswith(".items") else "object fields"
    yield field_error.required(f"{at}.type", f"must not be empty for specified {what}")


def _is_int_or_string(schema: Schema, part: Schema) -> bool:
    """The one form of types in a junctor that is allowed."""
    return bool(schema.get("x-kubernetes-int-or-string")) and part in (
        {"type": "integer"},
        {"type": "string"},
        {"anyOf": [{"type": "integer"}, {"type": "string"}]},
    )


def _declared(schema: Schema, at: str) -> Iterator[FieldError]:
    """What the root's own junctors speak of must be declared outside of them."""
    fields = schema.get("properties") or {}
    for part, place in _parts(schema, at):
        for key in part.get("properties") or {}:
            if key not in fields:
                where = f"{at}.properties[{key}]"
                yield field_error.required(
                    where, f"because it is defined in {place}.properties[{key}]"
                )


def _junctor(schema: Schema, at: str) -> Iterator[FieldError]:
    for word, must in _NOT_IN_JUNCTORS.items():
        if schema.get(word):
            yield field_error.forbidden(f"{at}.{word}", f"must be {must} to be structural")
    for child, place in [*children(schema, at), *_parts(schema, at)]:
        if not place.endswith(".additionalProperties"):
            yield from _junctor(child, place)


def _resource(schema: Schema, at: str, level: str) -> Iterator[FieldError]:
    """metadata, kind and apiVersion are known already; little may be said of them."""
    fields = schema.get("properties") or {}
    meta = fields.get("metadata")
    if meta is not None:
        place = f"{at}.properties[metadata]"
        if meta.get("type") != "object":
            yield field_error.invalid(f"{place}.type", meta.get("type") or "", "must be object")
        elif level and not set(meta.get("properties") or ()) <= {"name", "generateName"}:
            yield field_error.forbidden(
                place,
                "must not specify anything other than name and generateName, but metadata is "
                "implicitly specified",
            )
        yield from _no_defaults(meta, place, f"{level}metadata")
    for word in ("kind", "apiVersion"):
        field = fields.get(word)
        if field is None:
            continue
        place = f"{at}.properties[{word}]"
        if field.get("type") != "string":
            yield field_error.invalid(f"{place}.type", field.get("type") or "", "must be string")
        yield from _no_defaults(field, place, f"{level}{word}")


def _no_defaults(schema: Schema, at: str, where: str) -> Iterator[FieldError]:
    if schema.get("default") is not None:
        yield field_error.forbidden(f"{at}.default", f"must not be set in {where}")
    for child, place in children(schema, at):
        yield from _no_defaults(child, place, where)


SIMPLE_PATH = re.compile(r"(\.[A-Za-z0-9_$\-]+|\['[^']*'\]|\[\"[^\"]*\"\])+")
