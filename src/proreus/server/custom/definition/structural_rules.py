"""Validation that schemas are structural: types stand outside of junctors (server.md §9.1).

Violations are in order of the alphabet, as in Kubernetes.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from proreus.api import field_error
from proreus.api.field_error import FieldError
from proreus.server.custom.definition.internal_form import is_given
from proreus.server.regular_expressions import expression_error

Schema = Mapping[str, Any]
_JUNCTORS = ("allOf", "anyOf", "oneOf")
# A typed schema without these has nothing that could be wrong with its structure.
_KEYWORDS = frozenset((
    "properties", "additionalProperties", "items", "not", *_JUNCTORS, "pattern",
    "x-kubernetes-embedded-resource", "x-kubernetes-int-or-string",
))  # fmt: skip
_UNSUPPORTED = (
    ("id", "id"), ("$schema", "schema"), ("$ref", "$ref"),
    ("patternProperties", "patternProperties"), ("dependencies", "dependencies"),
    ("additionalItems", "additionalItems"), ("definitions", "definitions"),
)  # fmt: skip
_OTHER_KEYWORDS = frozenset(key for key, _ in _UNSUPPORTED) | {
    "properties", "additionalProperties", "items", "not", *_JUNCTORS,
    "x-kubernetes-preserve-unknown-fields",
}  # fmt: skip
_EMPTY, _UNDEFINED, _FALSE = "empty", "undefined", "false"
# What a junctor may not say, and what the error says it must be.
_NOT_IN_JUNCTORS = {
    "type": _EMPTY,
    "default": _UNDEFINED,
    "title": _EMPTY,
    "description": _EMPTY,
    "nullable": _FALSE,
    "x-kubernetes-preserve-unknown-fields": _FALSE,
    "x-kubernetes-embedded-resource": _FALSE,
    "x-kubernetes-int-or-string": _FALSE,
    "x-kubernetes-list-map-keys": _EMPTY,
    "x-kubernetes-list-type": _UNDEFINED,
    "x-kubernetes-map-type": _UNDEFINED,
    "x-kubernetes-validations": _EMPTY,
}
_INT_OR_STRING = [{"type": "integer"}, {"type": "string"}]
_ITEMS, _FIELDS = "array items", "object fields"


def unsupported_keyword(schema: Schema) -> str:
    """Why a schema cannot be checked for structure; "" if it can."""
    if _OTHER_KEYWORDS.isdisjoint(schema):
        return ""
    for key, name in _UNSUPPORTED:
        given = schema.get(key)
        if given or (key == "additionalItems" and given is not None):
            return f"OpenAPIV3Schema '{name}' is not supported"
    if schema.get("x-kubernetes-preserve-unknown-fields") is False:
        return "internal error: 'x-kubernetes-preserve-unknown-fields' must be true or undefined"
    if isinstance(items := schema.get("items"), list):
        return "OpenAPIV3Schema 'items' must be a schema, but is an array"
    below = [*(schema.get("properties") or {}).values(), schema.get("additionalProperties"), items]
    below += [part for part, _ in _parts(schema, "")]
    for child in below:
        if isinstance(child, dict) and (reason := unsupported_keyword(child)):
            return reason
    return ""


def structure_violations(schema: Schema, at: str) -> list[FieldError]:
    found: list[FieldError] = []
    _node(schema, at, found, level="")
    _undeclared_parts(schema, schema, at, at, found)
    return sorted(found, key=str)


def _parts(schema: Schema, at: str) -> Iterator[tuple[Schema, str]]:
    for word in _JUNCTORS:
        for index, part in enumerate(schema.get(word) or ()):
            yield part, f"{at}.{word}[{index}]"
    if isinstance(schema.get("not"), dict):
        yield schema["not"], f"{at}.not"


def _node(schema: Schema, at: str, found: list[FieldError], *, level: str) -> None:
    """``level``: what the schema is of, "" for the root."""
    kind, items = schema.get("type"), schema.get("items")
    if kind == "array" and not isinstance(items, dict):
        found.append(field_error.required(f"{at}.items", "must be specified"))
    if isinstance(items, dict):
        _node(items, f"{at}.items", found, level=_ITEMS)
    for key, child in (schema.get("properties") or {}).items():
        if child.get("type") in ("string", "integer", "boolean", "number") and _KEYWORDS.isdisjoint(
            child
        ):
            continue
        _node(child, f"{at}.properties[{key}]", found, level=_FIELDS)
    more = schema.get("additionalProperties")
    if more is not None and not level:
        place = f"{at}.additionalProperties"
        found.append(field_error.forbidden(place, "must not be used at the root"))
    if isinstance(more, dict):
        _node(more, f"{at}.additionalProperties", found, level=_FIELDS)
    found += _typed(schema, at, level)
    _value_checks(schema, at, found, skip_any_of=schema.get("anyOf") == _INT_OR_STRING)
    is_embedded = bool(schema.get("x-kubernetes-embedded-resource"))
    if is_embedded or not level:
        found += _resource(schema, at, is_root=not level)
    if is_embedded:
        found += _embedded(schema, at)


def _typed(schema: Schema, at: str, level: str) -> Iterator[FieldError]:
    kind, place = schema.get("type"), f"{at}.type"
    is_either = bool(schema.get("x-kubernetes-int-or-string"))
    if is_either:
        for word in ("x-kubernetes-preserve-unknown-fields", "x-kubernetes-embedded-resource"):
            if schema.get(word):
                text = "must be false if x-kubernetes-int-or-string is true"
                yield field_error.invalid(f"{at}.{word}", True, text)
    if schema.get("x-kubernetes-embedded-resource") and kind != "object":
        text = "must be object if x-kubernetes-embedded-resource is true"
        yield field_error.invalid(place, kind, text) if kind else field_error.required(place, text)
    elif not kind and not is_either and not schema.get("x-kubernetes-preserve-unknown-fields"):
        where = f"for specified {level}" if level else "at the root"
        yield field_error.required(place, f"must not be empty {where}")
    if not level and kind and kind != "object":
        yield field_error.invalid(place, kind, "must be object at the root")


def _value_checks(
    schema: Schema, at: str, found: list[FieldError], *, skip_any_of: bool, in_junctor: bool = False
) -> None:
    """Junctors, and patterns, of a schema or of a junctor's part."""
    first = None if in_junctor else (schema.get("allOf") or [{}])[0]
    for part, place in _parts(schema, at):
        if skip_any_of and place.startswith(f"{at}.anyOf["):
            continue
        is_either = part is first and part.get("anyOf") == _INT_OR_STRING
        _junctor(part, place, found, skip_any_of=is_either)
    text = schema.get("pattern")
    if text and (why := expression_error(text)):
        message = f"must be a valid regular expression, but isn't: {why}"
        found.append(field_error.invalid(f"{at}.pattern", text, message))


def _junctor(
    schema: Schema, at: str, found: list[FieldError], *, skip_any_of: bool = False
) -> None:
    _value_checks(schema, at, found, skip_any_of=skip_any_of, in_junctor=True)
    if isinstance(items := schema.get("items"), dict):
        _junctor(items, f"{at}.items", found)
    fields = schema.get("properties") or {}
    for key, child in fields.items():
        _junctor(child, f"{at}.properties[{key}]", found)
    if schema.get("additionalProperties") not in (None, False):
        place = f"{at}.additionalProperties"
        found.append(field_error.forbidden(place, "must be undefined to be structural"))
    for word, must in _NOT_IN_JUNCTORS.items():
        given = schema.get(word)
        if given or (given is not None and must == _UNDEFINED):
            found.append(field_error.forbidden(f"{at}.{word}", f"must be {must} to be structural"))
    if "metadata" in fields:
        place = f"{at}.properties[metadata]"
        found.append(field_error.forbidden(place, "must not be specified in a nested context"))


def _resource(schema: Schema, at: str, *, is_root: bool) -> Iterator[FieldError]:
    """metadata, kind and apiVersion are typed already; a schema may restrict little of them."""
    fields = schema.get("properties") or {}
    for word, wanted in (("kind", "string"), ("apiVersion", "string"), ("metadata", "object")):
        kind = fields[word].get("type") or "" if word in fields else wanted
        if kind != wanted:
            place = f"{at}.properties[{word}].type"
            yield field_error.invalid(place, kind, f"must be {wanted}")
    if is_root and "metadata" in fields and not _restricts_names_only(fields["metadata"]):
        yield field_error.forbidden(
            f"{at}.properties[metadata]",
            "must not specify anything other than name and generateName, but metadata is "
            "implicitly specified",
        )


def _restricts_names_only(metadata: Schema) -> bool:
    fields = metadata.get("properties") or {}
    restricted = {key for key, value in metadata.items() if is_given(key, value)} - {
        "type",
        "default",
        "properties",
    }
    return not restricted and set(fields) <= {"name", "generateName"}


def _embedded(schema: Schema, at: str) -> Iterator[FieldError]:
    if schema.get("additionalProperties") is not None:
        text = "must not be used if x-kubernetes-embedded-resource is set"
        yield field_error.forbidden(f"{at}.additionalProperties", text)
    if not schema.get("properties") and not schema.get("x-kubernetes-preserve-unknown-fields"):
        yield field_error.required(
            f"{at}.properties",
            "must not be empty if x-kubernetes-embedded-resource is true without "
            "x-kubernetes-preserve-unknown-fields",
        )


def _undeclared_parts(
    part: Schema, schema: Schema, at: str, part_at: str, found: list[FieldError]
) -> None:
    """What the root's own junctors refer to must be declared outside of them."""
    for inner, place in _parts(part, part_at):
        _undeclared(inner, schema, at, place, found)


def _undeclared(
    part: Schema, schema: Schema, at: str, part_at: str, found: list[FieldError]
) -> None:
    _undeclared_parts(part, schema, at, part_at, found)
    below = [
        (child, (schema.get("properties") or {}).get(key), f".properties[{key}]")
        for key, child in (part.get("properties") or {}).items()
    ]
    if isinstance(items := part.get("items"), dict):
        below.append((items, schema.get("items"), ".items"))
    for child, declared, step in below:
        if isinstance(declared, dict):
            _undeclared(child, declared, f"{at}{step}", f"{part_at}{step}", found)
        else:
            why = f"because it is defined in {part_at}{step}"
            found.append(field_error.required(f"{at}{step}", why))
