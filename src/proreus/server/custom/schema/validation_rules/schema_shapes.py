"""The CEL types of a schema, and bounds on the size of its values.

A shape exists for everything the checker knows a type for; fields without one (no type, lists
without items) are invisible to rules, as in Kubernetes. Sizes that the schema leaves open are
bounded by the largest request.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from proreus.server.cel.names import escaped
from proreus.server.cel.shapes import REQUEST_BYTES, Field, ShapeKind, ValueShape
from proreus.server.custom.schema.structural import MISSING, Structural, parse

_DURATION_BYTES = 32
_MOMENT_BYTES = 32
_DATE_BYTES = 12
_BOOLEAN_BYTES = 4
_ROOT_FIELDS: Mapping[str, Any] = {
    "apiVersion": {"type": "string"},
    "kind": {"type": "string"},
    "metadata": {
        "type": "object",
        "properties": {"name": {"type": "string"}, "generateName": {"type": "string"}},
    },
}


def shape_of(schema: Structural, *, is_resource: bool = False) -> ValueShape | None:
    """``is_resource``: the root of an object, where type and name can always be read."""
    if schema.int_or_string:
        most = schema.raw.get("maxLength")
        return ValueShape(
            ShapeKind.ANY, REQUEST_BYTES - 2 if most is None else max(int(most), 0) * 4
        )
    match schema.type:
        case "array":
            return _list(schema)
        case "object" if isinstance(schema.values, Structural):
            return _map(schema)
        case "object":
            return _object(schema, is_resource=is_resource or schema.is_embedded)
        case "string":
            return _text(schema.raw)
        case "boolean":
            return ValueShape(ShapeKind.BOOL, smallest_bytes=_BOOLEAN_BYTES)
        case "number":
            return ValueShape(ShapeKind.DOUBLE, is_converted=True)
        case "integer":
            return ValueShape(ShapeKind.INT)
        case _:
            return None


def _list(schema: Structural) -> ValueShape | None:
    element = shape_of(schema.items) if schema.items is not None else None
    if element is None:
        return None
    most = schema.raw.get("maxItems")
    open_end = (REQUEST_BYTES - 2) // (element.smallest_bytes + 1)
    return ValueShape(
        ShapeKind.LIST,
        largest=open_end if most is None else max(int(most), 0),
        smallest_bytes=2,
        element=element,
        list_type=schema.list_type if schema.list_type in ("set", "map") else "",
        keys=schema.list_map_keys,
        is_converted=element.is_converted or schema.list_type in ("set", "map"),
    )


def _map(schema: Structural) -> ValueShape | None:
    assert isinstance(schema.values, Structural)
    element = shape_of(schema.values)
    if element is None:
        return None
    most = schema.raw.get("maxProperties")
    open_end = (REQUEST_BYTES - 2) // (element.smallest_bytes + 6)
    largest = open_end if most is None else max(int(most), 0)
    return ValueShape(
        ShapeKind.MAP, largest, smallest_bytes=2, element=element, is_converted=element.is_converted
    )


def _object(schema: Structural, *, is_resource: bool) -> ValueShape:
    required = set(schema.raw.get("required") or ())
    properties = dict(schema.properties)
    if is_resource:
        properties |= {key: parse(value) for key, value in _ROOT_FIELDS.items()}
    fields: dict[str, Field] = {}
    smallest = 2
    is_converted = False
    for name, child in properties.items():
        shape = shape_of(child)
        if shape is None:
            continue
        spelled = escaped(name)
        if spelled is not None:
            fields[spelled] = Field(name, shape)
            is_converted = is_converted or shape.is_converted
        if name in required and child.default is MISSING:
            smallest += len(name) + shape.smallest_bytes + 4
    return ValueShape(
        ShapeKind.OBJECT, smallest_bytes=smallest, fields=fields, is_converted=is_converted
    )


def _text(raw: Mapping[str, Any]) -> ValueShape:
    most = raw.get("maxLength")
    match raw.get("format"):
        case "byte":
            largest = REQUEST_BYTES - 2 if most is None else max(int(most), 0)
            return ValueShape(ShapeKind.BYTES, largest, 2, is_converted=True)
        case "duration":
            return ValueShape(ShapeKind.DURATION, _DURATION_BYTES, 3, is_converted=True)
        case "date":
            return ValueShape(ShapeKind.TIMESTAMP, _DATE_BYTES, _DATE_BYTES, is_converted=True)
        case "date-time":
            return ValueShape(ShapeKind.TIMESTAMP, _MOMENT_BYTES, 21, is_converted=True)
    if most is not None:
        return ValueShape(
            ShapeKind.STRING, max(int(most), 0) * 4, 2
        )  # a character has up to four bytes
    if texts := [one for one in raw.get("enum") or () if isinstance(one, str)]:
        return ValueShape(ShapeKind.STRING, max(len(one.encode()) for one in texts), 2)
    return ValueShape(ShapeKind.STRING, REQUEST_BYTES - 2, 2)
