"""What Kubernetes says when a decoded value cannot be copied into a field of another type.

The results of strategic merges and of apply are never text: their values are copied into a typed
object one by one. Types with an encoding of their own get the value as JSON.
"""

from __future__ import annotations

from typing import Any

from proreus.api.typed import Shape, TypeNode
from proreus.server.schema import go_types
from proreus.server.schema.decode_error import place_of
from proreus.server.schema.scalars import FormatError, Mismatch

_GO_KINDS = {bool: "bool", int: "int64", float: "float64", str: "string", list: "slice"}
_ENCODED = {Shape.TIME: "string", Shape.MICRO_TIME: "string", Shape.INT_OR_STRING: "int32"}


def restore_text(root: TypeNode, found: Mismatch) -> str:
    if found.nested is not None:
        return found.nested.text
    place = place_of(root, found)
    kind, shape = _GO_KINDS.get(found.value.__class__, "map"), place.node.shape
    match shape:
        case Shape.OBJECT:
            return f"cannot restore struct from: {kind}"
        case Shape.MAP:
            return f"cannot restore map from {kind}"
        case Shape.LIST | Shape.BYTES:
            return f"cannot restore slice from {kind}"
        case Shape.TIME | Shape.MICRO_TIME | Shape.INT_OR_STRING:
            given = _number(found.value, shape) or go_types.json_type(found.value)
            return f"json: cannot unmarshal {given} into Go value of type {_ENCODED[shape]}"
    if _is_convertible(kind, shape):
        return f"cannot convert {kind} to {place.type_name()}"
    return f"unrecognized type: {go_types.go_type(place.node)}"


def _number(value: Any, shape: Shape) -> str:
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return f"number {value}" if is_number and shape is Shape.INT_OR_STRING else ""


def _is_convertible(kind: str, shape: Shape) -> bool:
    """What Go can convert and Kubernetes does not: whole numbers are characters to Go."""
    if shape is Shape.STRING:
        return kind == "int64"
    return shape in (Shape.INTEGER, Shape.NUMBER) and kind in ("int64", "float64")


def restore_format_text(found: FormatError) -> str:
    text = str(found)
    is_of_bytes = text.startswith("illegal base64")
    return f"error decoding from json: {text}" if is_of_bytes else text
