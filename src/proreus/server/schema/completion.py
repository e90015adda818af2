"""Fields that a server writes though they were not given: added where they are missing.

A body that a program made lacks them, and is otherwise mostly as a server writes it: with them it
has its canonical form, and need not be walked. What lacks nothing is returned as it is; of the rest
only what is added to is copied.
"""

from __future__ import annotations

from collections.abc import Callable
from operator import is_
from typing import Any

from proreus.api.typed import Shape, TypeNode
from proreus.server.schema.decode_error import element_of
from proreus.server.schema.presence import Presence, is_null_when_missing, presence

Make = Callable[[], Any]
Complete = Callable[[Any], Any]

_made: dict[int, tuple[TypeNode, Complete | None]] = {}  # by id; the node is kept so that the id is


def always_written(node: TypeNode) -> tuple[tuple[str, Make], ...]:
    """The fields of a struct that are written even when they were not given, and as what."""
    return tuple(
        (key, _nothing if is_null_when_missing(node, key) else _maker(field))
        for key, field in (node.properties() if node.properties else {}).items()
        if presence(node, key, field) is Presence.ALWAYS
    )


def completion_of(node: TypeNode) -> Complete | None:
    """None: nothing can be missing in its values."""
    found = _made.get(id(node))
    if found is None:
        _made[id(node)] = node, None  # what it contains of itself is left to its walk
        found = _made[id(node)] = node, _completion(node)
    return found[1]


def _completion(node: TypeNode) -> Complete | None:
    if node.shape is Shape.OBJECT:
        return _of_struct(node)
    if node.shape not in (Shape.LIST, Shape.MAP):
        return None
    inner = completion_of(element_of(node))
    if inner is None:
        return None
    return _of_list(inner) if node.shape is Shape.LIST else _of_map(inner)


def _of_struct(node: TypeNode) -> Complete | None:
    always = always_written(node)
    needed = frozenset(key for key, _ in always)
    properties = node.properties() if node.properties else {}
    deep = {key: inner for key, field in properties.items() if (inner := completion_of(field))}
    if not always and not deep:
        return None

    def complete(value: Any) -> Any:
        if value.__class__ is not dict:
            return value
        lacks = not needed <= value.keys()
        result = value.copy() if lacks else value
        if deep:
            for key in deep.keys() & value.keys():
                item = value[key]
                made = deep[key](item)
                if made is not item:
                    if result is value:
                        result = value.copy()
                    result[key] = made
        if lacks:
            for key, make in always:
                if key not in result:
                    result[key] = make()
        return result

    return complete


def _of_list(inner: Complete) -> Complete:
    def complete(value: Any) -> Any:
        if value.__class__ is not list:
            return value
        made = [inner(item) for item in value]
        return value if all(map(is_, made, value)) else made

    return complete


def _of_map(inner: Complete) -> Complete:
    def complete(value: Any) -> Any:
        if value.__class__ is not dict:
            return value
        made = {key: inner(item) for key, item in value.items()}
        return value if all(map(is_, made.values(), value.values())) else made

    return complete


def _maker(field: TypeNode) -> Make:
    match field.shape:
        case Shape.OBJECT:
            return _struct_maker(field)
        case Shape.STRING:
            return str
        case Shape.INTEGER | Shape.NUMBER | Shape.INT_OR_STRING:
            return int
        case Shape.BOOLEAN:
            return bool
        case Shape.QUANTITY:
            return lambda: "0"
        case _:
            return _nothing


def _struct_maker(node: TypeNode) -> Make:
    always: tuple[tuple[str, Make], ...] | None = None  # not before it is used: types are many

    def make() -> Any:
        nonlocal always
        if always is None:
            always = always_written(node)
        return {key: make() for key, make in always}

    return make


def _nothing() -> None:
    return None
