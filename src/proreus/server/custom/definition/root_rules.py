"""Keywords allowed at the root of a schema whose status is a subresource."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from proreus.api import field_error
from proreus.api.field_error import FieldError
from proreus.server.custom.definition.internal_form import is_given, printed_schema

# In the order in which Kubernetes looks at them, by the names it reports.
_ALLOWED = {
    "description": "Description",
    "type": "Type",
    "format": "Format",
    "title": "Title",
    "maximum": "Maximum",
    "exclusiveMaximum": "ExclusiveMaximum",
    "minimum": "Minimum",
    "exclusiveMinimum": "ExclusiveMinimum",
    "maxLength": "MaxLength",
    "minLength": "MinLength",
    "pattern": "Pattern",
    "maxItems": "MaxItems",
    "minItems": "MinItems",
    "uniqueItems": "UniqueItems",
    "multipleOf": "MultipleOf",
    "required": "Required",
    "items": "Items",
    "properties": "Properties",
    "externalDocs": "ExternalDocs",
    "example": "Example",
    "x-kubernetes-preserve-unknown-fields": "XPreserveUnknownFields",
    "x-kubernetes-validations": "XValidations",
}
_BEFORE_TYPE = ("id", "$schema", "$ref")


def root_violations(schema: Mapping[str, Any], at: str) -> list[FieldError]:
    """The first one, if there are any."""
    others = [key for key, value in schema.items() if is_given(key, value) and key not in _ALLOWED]
    kind = schema.get("type")
    if kind and kind != "object" and not any(key in _BEFORE_TYPE for key in others):
        text = (
            'only "object" is allowed as the type at the root of the schema if the status '
            "subresource is enabled"
        )
        return [field_error.invalid(f"{at}.type", kind, text)]
    if not others:
        return []
    text = (
        f"only [{' '.join(_ALLOWED.values())}] fields are allowed at the root of the schema if "
        "the status subresource is enabled"
    )
    return [field_error.invalid(at, printed_schema(schema), text)]
