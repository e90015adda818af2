"""What Go's JSON decoder says about a value of the wrong type, and where."""

from __future__ import annotations

import json
from typing import Any

from proreus.api.typed import Shape, TypeNode
from proreus.server.schema import go_types
from proreus.server.schema.scalars import Mismatch


class DecodeError(ValueError):
    """The body is no such kind; ``str(error)`` is what follows ``cannot be handled as a X: ``."""


def element_of(node: TypeNode) -> TypeNode:
    assert node.element is not None, "lists and maps have elements"
    return node.element()


def mismatch_text(root: TypeNode, found: Mismatch, raw: bytes) -> str:
    """``json: cannot unmarshal number 1.5 into Go struct field X.spec.y of type int32``."""
    path = found.path[::-1]
    owner, node, keys, last = root, root, [], ""
    for step in path:
        if node.shape is Shape.OBJECT and isinstance(step, str):
            owner, last = node, step
            keys.append(step)
            node = node.field_of(step) or node
            at_field = True
        else:
            node = element_of(node)
            at_field = False
    rendered = go_types.json_type(found.value)
    if rendered == "number" and node.shape in (Shape.INTEGER, Shape.INT_OR_STRING):
        rendered = f"number {_literal(found.value, path, raw)}"
    if not keys:
        return f"json: cannot unmarshal {rendered} into Go value of type {go_types.go_type(node)}"
    kind = go_types.field_type(owner, last, node, is_element=not at_field)
    where = f"{go_types.struct_name(owner)}.{'.'.join(keys)}"
    return f"json: cannot unmarshal {rendered} into Go struct field {where} of type {kind}"


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
