"""Validation of the defaults in a schema: they must be valid and declare no unknown fields.

They are validated as they are written, before the defaults inside of them are filled in. Those of a
map's values are not validated: Kubernetes does not follow them either.
"""

from __future__ import annotations

from copy import deepcopy
from dataclasses import replace

from proreus.api import field_error
from proreus.api.field_error import FieldError, Reason
from proreus.server.custom.schema.embedded_rules import embedded_violations
from proreus.server.custom.schema.prune import would_prune
from proreus.server.custom.schema.structural import MISSING, Structural
from proreus.server.custom.schema.typed_metadata import (
    BadMetadata,
    coerce_embedded,
    coerce_resource,
)
from proreus.server.custom.schema.validate import validate


def default_violations(schema: Structural, at: str, *, is_root: bool = False) -> list[FieldError]:
    found: list[FieldError] = []
    if is_root and schema.default is not MISSING:
        schema = replace(schema, is_embedded=True, has_embedded=True)
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
        printed = field_error.sorted_keys(value)
        found.append(field_error.invalid(at, printed, "must not have unknown fields"))
    wrong = _resource_violations(schema, at) or validate(value, schema, at=at, is_default=True)
    if not wrong and schema.has_rules:
        wrong = _rule_violations(schema, at)
    return found + wrong


def _resource_violations(schema: Structural, at: str) -> list[FieldError]:
    """Of the type and the metadata of a default that is a resource, and of what is embedded."""
    value = deepcopy(schema.default)
    try:
        if schema.is_embedded and isinstance(value, dict):
            coerce_resource(value, at, [])
        coerce_embedded(value, schema, at, [])
    except BadMetadata as error:
        return [FieldError(error.place, Reason.INVALID, error.reason)]
    return embedded_violations(value, schema, at)


def _rule_violations(schema: Structural, at: str) -> list[FieldError]:
    from proreus.server.cel.checker import is_available  # loaded for the first schema with rules

    if not is_available():
        return []
    from proreus.server.custom.schema.validation_rules.program import SchemaRules

    value, is_resource = schema.default, schema.is_embedded
    return SchemaRules(schema).violations(value, value, is_resource=is_resource, at=at)
