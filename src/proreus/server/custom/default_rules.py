"""Defaults in a schema must themselves be valid, and declare nothing the schema does not."""

from __future__ import annotations

from proreus.api import field_error
from proreus.api.field_error import FieldError
from proreus.server.custom.default import default
from proreus.server.custom.prune import would_prune
from proreus.server.custom.structural import MISSING, Structural
from proreus.server.custom.validate import validate


def default_violations(schema: Structural, at: str) -> list[FieldError]:
    found: list[FieldError] = []
    if schema.default is not MISSING:
        found += _violations(schema, f"{at}.default")
    for key, child in schema.properties.items():
        if child.has_defaults:
            found += default_violations(child, f"{at}.properties[{key}]")
    if isinstance(schema.values, Structural) and schema.values.has_defaults:
        found += default_violations(schema.values, f"{at}.additionalProperties")
    if schema.items is not None and schema.items.has_defaults:
        found += default_violations(schema.items, f"{at}.items")
    return found


def _violations(schema: Structural, at: str) -> list[FieldError]:
    if would_prune(schema.default, schema):
        return [field_error.invalid(at, schema.default, "must not have unknown fields")]
    filled = {"value": _copy(schema.default)}
    default(filled["value"], schema)
    return validate(filled["value"], schema, at=at)


def _copy(value: object) -> object:
    import copy

    return copy.deepcopy(value)
