"""What rules see of a schema: its CEL type, and how large its values can get.

A shape exists for everything the checker knows a type for; fields without one (no type, lists
without items) are invisible to rules, as in Kubernetes. Sizes that the schema leaves open are
bounded by the largest request.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import Any

from proreus.server.custom.cel.names import escaped
from proreus.server.custom.structural import MISSING, Structural, parse

REQUEST_BYTES = 3 * 1024 * 1024
_DURATION_BYTES = 32
_MOMENT_BYTES = 32
_DATE_BYTES = 12
_SMALLEST = {"boolean": 4, "number": 1, "integer": 1, "string": 2}
_ROOT_FIELDS: Mapping[str, Any] = {
    "apiVersion": {"type": "string"},
    "kind": {"type": "string"},
    "metadata": {
        "type": "object",
        "properties": {"name": {"type": "string"}, "generateName": {"type": "string"}},
    },
}


class Kind(Enum):
    ANY = "dyn"
    BOOL = "bool"
    INT = "int"
    DOUBLE = "double"
    STRING = "string"
    BYTES = "bytes"
    TIMESTAMP = "timestamp"
    DURATION = "duration"
    LIST = "list"
    MAP = "map"
    OBJECT = "object"


@dataclass(frozen=True, slots=True, eq=False)
class Field:
    name: str  # as JSON spells it
    shape: Shape


@dataclass(frozen=True, slots=True, eq=False)
class Shape:
    kind: Kind
    largest: int = 0  # elements of a list or map, bytes of a text
    smallest_bytes: int = 1
    element: Shape | None = None
    fields: Mapping[str, Field] = field(default_factory=dict)  # by their escaped names
    list_type: str = ""
    keys: tuple[str, ...] = ()
    is_converted: bool = False  # JSON values differ from what rules see


def shape_of(schema: Structural, *, is_resource: bool = False) -> Shape | None:
    """``is_resource``: the root of an object, where type and name can always be read."""
    if schema.int_or_string:
        return Shape(Kind.ANY, REQUEST_BYTES - 2)
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
            return Shape(Kind.BOOL, smallest_bytes=_SMALLEST["boolean"])
        case "number":
            return Shape(Kind.DOUBLE, is_converted=True)
        case "integer":
            return Shape(Kind.INT)
        case _:
            return None


def cardinality(shape: Shape) -> int:
    """How often values of a shape fit into the largest request."""
    return REQUEST_BYTES // (shape.smallest_bytes + 1)


def _list(schema: Structural) -> Shape | None:
    element = shape_of(schema.items) if schema.items is not None else None
    if element is None:
        return None
    most = schema.raw.get("maxItems")
    open_end = (REQUEST_BYTES - 2) // (element.smallest_bytes + 1)
    return Shape(
        Kind.LIST,
        largest=open_end if most is None else max(int(most), 0),
        smallest_bytes=2,
        element=element,
        list_type=schema.list_type if schema.list_type in ("set", "map") else "",
        keys=schema.list_map_keys,
        is_converted=element.is_converted or schema.list_type in ("set", "map"),
    )


def _map(schema: Structural) -> Shape | None:
    assert isinstance(schema.values, Structural)
    element = shape_of(schema.values)
    if element is None:
        return None
    most = schema.raw.get("maxProperties")
    open_end = (REQUEST_BYTES - 2) // (element.smallest_bytes + 6)
    largest = open_end if most is None else max(int(most), 0)
    return Shape(
        Kind.MAP, largest, smallest_bytes=2, element=element, is_converted=element.is_converted
    )


def _object(schema: Structural, *, is_resource: bool) -> Shape:
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
    return Shape(Kind.OBJECT, smallest_bytes=smallest, fields=fields, is_converted=is_converted)


def _text(raw: Mapping[str, Any]) -> Shape:
    most = raw.get("maxLength")
    match raw.get("format"):
        case "byte":
            largest = REQUEST_BYTES - 2 if most is None else max(int(most), 0)
            return Shape(Kind.BYTES, largest, 2, is_converted=True)
        case "duration":
            return Shape(Kind.DURATION, _DURATION_BYTES, 3, is_converted=True)
        case "date":
            return Shape(Kind.TIMESTAMP, _DATE_BYTES, _DATE_BYTES, is_converted=True)
        case "date-time":
            return Shape(Kind.TIMESTAMP, _MOMENT_BYTES, 21, is_converted=True)
    if most is not None:
        return Shape(Kind.STRING, max(int(most), 0) * 4, 2)  # a character has up to four bytes
    if texts := [one for one in raw.get("enum") or () if isinstance(one, str)]:
        return Shape(Kind.STRING, max(len(one.encode()) for one in texts), 2)
    return Shape(Kind.STRING, REQUEST_BYTES - 2, 2)
