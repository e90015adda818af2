"""Versions and schemas as Kubernetes prints them in messages: its internal form, with every field.

What is the same in all versions is not part of them there (``versions``).
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any

from proreus.api import field_error

_Printed = Callable[[Any], object]
# By the name in JSON: the name inside, what stands for no value, and how a value is printed.
_Fields = Mapping[str, tuple[str, object, _Printed]]


def printed_versions(
    versions: Sequence[Mapping[str, Any]] | None, shared: Collection[str]
) -> list[dict[str, object]] | None:
    """``shared``: fields that are the same in all versions."""
    if versions is None:
        return None
    return [
        _printed({key: version[key] for key in version if key not in shared}, _VERSION)
        for version in versions
    ]


def printed_schema(schema: Mapping[str, Any]) -> dict[str, object]:
    return _printed(schema, _SCHEMA)


def is_given(key: str, value: object) -> bool:
    """Whether a keyword of a schema is set: some may be empty, or 0, and are so all the same."""
    return value is not None and value != _SCHEMA[key][1]


def printed_items(items: Any) -> object:
    """Of a list, which has a schema or several."""
    if items is None:
        return None
    if isinstance(items, list):
        return {"Schema": None, "JSONSchemas": _each(_SCHEMA)(items)}
    return {"Schema": printed_schema(items), "JSONSchemas": None}


def _printed(given: Mapping[str, Any], fields: _Fields) -> dict[str, object]:
    made: dict[str, object] = {}
    for key, (name, empty, print_value) in fields.items():
        value = given.get(key)
        made[name] = empty if value is None else print_value(value)
    return made


def _as_is(value: Any) -> object:
    return value


def _struct(fields: _Fields) -> _Printed:
    return lambda value: _printed(value, fields)


def _each(fields: _Fields) -> _Printed:
    return lambda values: [_printed(value, fields) for value in values]


def _schemas(value: Any) -> object:
    return {key: printed_schema(value[key]) for key in sorted(value)}


def _schema_or_bool(value: Any) -> object:
    is_schema = isinstance(value, dict)
    return {
        "Allows": is_schema or bool(value),
        "Schema": printed_schema(value) if is_schema else None,
    }


def _dependencies(value: Any) -> object:
    return {
        key: {
            "Schema": printed_schema(value[key]) if isinstance(value[key], dict) else None,
            "Property": value[key] if isinstance(value[key], list) else None,
        }
        for key in sorted(value)
    }


_DOCS: _Fields = {"description": ("Description", "", _as_is), "url": ("URL", "", _as_is)}
_RULE: _Fields = {
    "rule": ("Rule", "", _as_is),
    "message": ("Message", "", _as_is),
    "messageExpression": ("MessageExpression", "", _as_is),
    "reason": ("Reason", None, _as_is),
    "fieldPath": ("FieldPath", "", _as_is),
    "optionalOldSelf": ("OptionalOldSelf", None, _as_is),
}
_SCHEMA: _Fields = {
    "id": ("ID", "", _as_is),
    "$schema": ("Schema", "", _as_is),
    "$ref": ("Ref", None, _as_is),
    "description": ("Description", "", _as_is),
    "type": ("Type", "", _as_is),
    "nullable": ("Nullable", False, _as_is),
    "format": ("Format", "", _as_is),
    "title": ("Title", "", _as_is),
    "default": ("Default", None, field_error.sorted_keys),
    "maximum": ("Maximum", None, _as_is),
    "exclusiveMaximum": ("ExclusiveMaximum", False, _as_is),
    "minimum": ("Minimum", None, _as_is),
    "exclusiveMinimum": ("ExclusiveMinimum", False, _as_is),
    "maxLength": ("MaxLength", None, _as_is),
    "minLength": ("MinLength", None, _as_is),
    "pattern": ("Pattern", "", _as_is),
    "maxItems": ("MaxItems", None, _as_is),
    "minItems": ("MinItems", None, _as_is),
    "uniqueItems": ("UniqueItems", False, _as_is),
    "multipleOf": ("MultipleOf", None, _as_is),
    "enum": ("Enum", None, field_error.sorted_keys),
    "maxProperties": ("MaxProperties", None, _as_is),
    "minProperties": ("MinProperties", None, _as_is),
    "required": ("Required", None, _as_is),
    "items": ("Items", None, printed_items),
    "allOf": ("AllOf", None, lambda value: _each(_SCHEMA)(value)),
    "oneOf": ("OneOf", None, lambda value: _each(_SCHEMA)(value)),
    "anyOf": ("AnyOf", None, lambda value: _each(_SCHEMA)(value)),
    "not": ("Not", None, lambda value: printed_schema(value)),
    "properties": ("Properties", None, _schemas),
    "additionalProperties": ("AdditionalProperties", None, _schema_or_bool),
    "patternProperties": ("PatternProperties", None, _schemas),
    "dependencies": ("Dependencies", None, _dependencies),
    "additionalItems": ("AdditionalItems", None, _schema_or_bool),
    "definitions": ("Definitions", None, _schemas),
    "externalDocs": ("ExternalDocs", None, _struct(_DOCS)),
    "example": ("Example", None, field_error.sorted_keys),
    "x-kubernetes-preserve-unknown-fields": ("XPreserveUnknownFields", None, _as_is),
    "x-kubernetes-embedded-resource": ("XEmbeddedResource", False, _as_is),
    "x-kubernetes-int-or-string": ("XIntOrString", False, _as_is),
    "x-kubernetes-list-map-keys": ("XListMapKeys", None, _as_is),
    "x-kubernetes-list-type": ("XListType", None, _as_is),
    "x-kubernetes-map-type": ("XMapType", None, _as_is),
    "x-kubernetes-validations": ("XValidations", None, _each(_RULE)),
}
_COLUMN: _Fields = {
    "name": ("Name", "", _as_is),
    "type": ("Type", "", _as_is),
    "format": ("Format", "", _as_is),
    "description": ("Description", "", _as_is),
    "priority": ("Priority", 0, _as_is),
    "jsonPath": ("JSONPath", "", _as_is),
}
_SCALE: _Fields = {
    "specReplicasPath": ("SpecReplicasPath", "", _as_is),
    "statusReplicasPath": ("StatusReplicasPath", "", _as_is),
    "labelSelectorPath": ("LabelSelectorPath", None, _as_is),
}
_SUBRESOURCES: _Fields = {
    "status": ("Status", None, _as_is),
    "scale": ("Scale", None, _struct(_SCALE)),
}
_VALIDATION: _Fields = {"openAPIV3Schema": ("OpenAPIV3Schema", None, _struct(_SCHEMA))}
_VERSION: _Fields = {
    "name": ("Name", "", _as_is),
    "served": ("Served", False, _as_is),
    "storage": ("Storage", False, _as_is),
    "deprecated": ("Deprecated", False, _as_is),
    "deprecationWarning": ("DeprecationWarning", None, _as_is),
    "schema": ("Schema", None, _struct(_VALIDATION)),
    "subresources": ("Subresources", None, _struct(_SUBRESOURCES)),
    "additionalPrinterColumns": ("AdditionalPrinterColumns", None, _each(_COLUMN)),
    "selectableFields": ("SelectableFields", None, _each({"jsonPath": ("JSONPath", "", _as_is)})),
}
