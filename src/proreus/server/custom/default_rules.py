"""Defaults in a schema must themselves be valid, and declare nothing the schema does not.

They are judged as they are written, before the defaults inside of them are filled in. Those of a
map's values are not judged: Kubernetes does not follow them either.
"""

from __future__ import annotations

from proreus.api import field_error
from proreus.api.field_error import FieldError
from proreus.server.custom.cel.checker import is_available
from proreus.server.custom.prune import would_prune
from proreus.server.custom.structural import MISSING, Structural
from proreus.server.custom.validate import validate


def default_violations(schema: Structural, at: str) -> list[FieldError]:
    found: list[FieldError] = []
    if schema.default is not MISSING:
        found += _violations(schema, f"{at}.default")
    if schema.items is not None and schema.items.has_defaults:
        found += default_violations(schema.items, f"{at}.items")
    for key, child in schema.properties.items():
        if child.has_defaults:
            found += default_violations(child, f"{at}.properties[{key}]")
    return found


def _violations(schema: Structural, at: str) -> list[FieldError]:
    value = schema.default
    found: list[FieldError] = []
    if would_prune(value, schema):
        found.append(field_error.invalid(at, value, "must not have unknown fields"))
    wrong = validate(value, schema, at=at)
    if not wrong and schema.has_rules and is_available():
        from proreus.server.custom.cel.program import SchemaRules

        is_resource = schema.is_embedded
        wrong = SchemaRules(schema).violations(value, value, is_resource=is_resource, at=at)
    return found + wrong
