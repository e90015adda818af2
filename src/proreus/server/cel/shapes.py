"""The types of the values that expressions see, and how large the values can get.

The owner of expressions makes a ``ValueShape`` of what describes their variables, such as a
schema. Sizes left open are bounded by the largest request.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from enum import Enum

from proreus.lazy_dataclass import dataclass

REQUEST_BYTES = 3 * 1024 * 1024


class ShapeKind(Enum):
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
    OPAQUE = "opaque"  # only functions make and take it


@dataclass(frozen=True, slots=True, eq=False)
class Field:
    name: str  # as JSON spells it
    shape: ValueShape


@dataclass(frozen=True, slots=True, eq=False)
class ValueShape:
    kind: ShapeKind
    largest: int = 0  # elements of a list or map, bytes of a text
    smallest_bytes: int = 1
    element: ValueShape | None = None
    fields: Mapping[str, Field] = field(default_factory=dict)  # by their escaped names
    list_type: str = ""
    keys: tuple[str, ...] = ()
    is_converted: bool = False  # JSON values differ from what rules see
    type_name: str = ""  # of an opaque value; of an object, as messages call it


def cardinality(shape: ValueShape) -> int:
    """How often values of a shape fit into the largest request."""
    return REQUEST_BYTES // (shape.smallest_bytes + 1)
