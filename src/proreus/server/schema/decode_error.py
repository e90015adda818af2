"""What Go's JSON decoder says about a value of the wrong type, and where."""

from __future__ import annotations

import json
from typing import Any, NamedTuple

from proreus.api.typed import Shape, TypeNode
from proreus.server.schema import go_types
from proreus.server.schema.embedded_structs import embedded_in
from proreus.server.schema.scalars import Mismatch


class DecodeError(ValueError):
    """The body is no such kind; ``str(error)`` is what follows ``cannot be handled as a X: ``."""


def element_of(node: TypeNode) -> TypeNode:
    assert node.element is not None, "lists and maps have elements"
    return node.element()


class WrongField(NamedTuple):
    """Where a value stands: in the field ``key`` of the struct ``owner``, or in a list there."""

    owner: TypeNode
    node: TypeNode
    keys: list[str]  # of structs, down to the place
    depth: int  # of lists and maps in that field

    def type_name(self) -> str:
        """Go's name of the type that is wanted here."""
        if not self.keys:
            return go_types.go_type(self.node)
        return go_types.field_type(self.owner, self.keys[-1], self.node, depth=self.depth)


def place_of(root: TypeNode, found: Mismatch) -> WrongField:
    owner, node, keys, depth = root, root, list[str](), 0
    for step in found.path[::-1]:
        if node.shape is Shape.OBJECT and isinstance(step, str):
            owner, depth = node, 0
            keys += [*embedded_in(go_types.struct_name(owner), step), step]
            node = node.field_of(step) or node
        else:
            node, depth = element_of(node), depth + 1
    return WrongField(owner, node, keys, depth)


def mismatch_text(root: TypeNode, found: Mismatch, raw: bytes) -> str:
    """``json: cannot unmarshal number 1.5 into Go struct field X.spec.y of type int32``."""
    place = place_of(root, found)
    shape, wanted = place.node.shape, place.type_name()
    if found.nested is not None:
        shape, wanted, _ = found.nested
    rendered = go_types.json_type(found.value)
    if rendered == "number" and shape in (Shape.INTEGER, Shape.INT_OR_STRING):
        rendered = f"number {_literal(found.value, found.path[::-1], raw)}"
    if not place.keys:
        return f"json: cannot unmarshal {rendered} into Go value of type {wanted}"
    where = f"{go_types.struct_name(place.owner)}.{'.'.join(place.keys)}"
    return f"json: cannot unmarshal {rendered} into Go struct field {where} of type {wanted}"


class _Literal(str):
    """A number as it was written."""


def _literal(value: Any, path: list[str | int], raw: bytes) -> str:
    """The number as the body spelled it: ``1e2``, not 100.0."""
    if raw:
        try:
            place: Any = json.loads(raw, parse_float=_Literal, parse_int=_Literal)
            for step in path:
                place = place[step]
        except (ValueError, LookupError, TypeError, RecursionError):
            place = None
        if isinstance(place, _Literal):
            return str(place)
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return str(value)
