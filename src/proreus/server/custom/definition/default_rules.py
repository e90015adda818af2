"""Validation of the defaults in a schema: they must be valid and declare no unknown fields.

They are validated as they are written, before the defaults inside of them are filled in. Those of a
map's values are not validated: Kubernetes does not follow them either.
"""

from __future__ import annotations

from proreus.api import field_error
from proreus.api.field_error import FieldError
from proreus.server.custom.schema.prune import would_prune
from proreus.server.custom.schema.structural import MISSING, Structural
from proreus.server.custom.schema.validate import validate


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
    if not wrong and schema.has_rules:
        wrong = _rule_violations(schema, at)
    return found + wrong


def _rule_violations(schema: Structural, at: str) -> list[FieldError]:
    from proreus.server.cel.checker import is_available  # loaded for the first schema with rules

    if not is_available():
        return []
    from proreus.server.custom.schema.validation_rules.program import SchemaRules

    value, is_resource = schema.default, schema.is_embedded
    return SchemaRules(schema).violations(value, value, is_resource=is_resource, at=at)
