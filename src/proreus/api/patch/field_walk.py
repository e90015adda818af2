"""Which paths an object sets, and which differ between two: the walk over values and types.

Lists whose type is atomic, and maps marked so, are one path; lists of type set and map are walked
by element; what has no declared type is walked by key, its lists are atomic. Equal parts are
skipped at the speed of ``==``, so comparing costs in proportion to what differs.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from proreus.api.patch import field_sets
from proreus.api.patch.field_sets import EMPTY, SELF, Tree, with_self
from proreus.api.typed import ListType, Shape, TypeNode

ABSENT: Any = object()
# Keys of list elements that the server fills in; the built-in definitions do not carry defaults.
_KEY_DEFAULTS = {"protocol": "TCP"}


class ElementError(ValueError):
    """A list element that cannot be told from the others."""


@dataclass(frozen=True, slots=True)
class Comparison:
    added: Tree
    modified: Tree
    removed: Tree


def fields_of(value: dict[str, Any], node: TypeNode | None) -> Tree:
    """The paths an applied object sets: leaves, list elements, and maps that are empty."""
    return _fields_of_map(value, node) or EMPTY


def compare(old: dict[str, Any], new: dict[str, Any], node: TypeNode | None) -> Comparison:
    """How ``new`` differs from ``old``; what appears or goes counts with its containers."""
    walk = _Differences()
    walk.maps(old, new, node)
    return Comparison(walk.added, walk.modified, walk.removed)


def is_walked_list(node: TypeNode | None) -> bool:
    return node is not None and node.shape is Shape.LIST and node.list_type is not ListType.ATOMIC


def is_atomic(value: Any, node: TypeNode | None) -> bool:
    """Whether a value is one path, whatever is inside."""
    if isinstance(value, dict):
        return node is not None and node.atomic_map
    return not (isinstance(value, list) and is_walked_list(node))


def elements(items: Iterable[Any], node: TypeNode) -> list[str]:
    """The path element of each item; by index where it has no identity."""
    found = []
    for index, item in enumerate(items):
        try:
            found.append(element_of(item, node))
        except ElementError:
            found.append(f"i:{index}")
    return found


def element_of(item: Any, node: TypeNode) -> str:
    """The path element of a list's item; raises ElementError, worded like the server."""
    if node.list_type is ListType.SET:
        if isinstance(item, dict | list):
            raise ElementError("associative list without keys has an element that's a map type")
        if item is None:
            raise ElementError(
                "associative list without keys has an element that's an explicit null"
            )
        return field_sets.value_element(item)
    if item is None:
        raise ElementError("associative list with keys may not have a null element")
    if not isinstance(item, dict):
        raise ElementError("associative list with keys may not have non-map elements")
    keys: dict[str, Any] = {}
    for key in node.list_map_keys:
        value = item.get(key)
        if value is None:
            value = _key_default(node, key)
        if value is not None:
            keys[key] = value
    if not keys:
        wanted = " ".join(f'"{key}"' for key in node.list_map_keys)
        raise ElementError(
            f"associative list with keys has an element that omits all key fields [{wanted}] "
            "(and doesn't have default values for any key fields)"
        )
    return field_sets.key_element(keys)


def _key_default(node: TypeNode, key: str) -> Any:
    element = node.element() if node.element is not None else None
    field = element.field_of(key) if element is not None else None
    if field is not None and field.default is not None:
        return field.default
    return _KEY_DEFAULTS.get(key)


def _fields(value: Any, node: TypeNode | None) -> Tree | None:
    """The tree below a path, EMPTY for the path itself, None for nothing."""
    if isinstance(value, dict):
        if not value or (node is not None and node.atomic_map):
            return EMPTY
        return _fields_of_map(value, node)
    if isinstance(value, list) and is_walked_list(node):
        assert node is not None
        inner = node.element() if node.element is not None else None
        return {
            element: with_self(_fields(item, inner) or EMPTY)
            for element, item in zip(elements(value, node), value, strict=True)
        } or None
    return EMPTY


def _fields_of_map(value: dict[str, Any], node: TypeNode | None) -> Tree | None:
    properties = _declared(node)
    inner = _map_element(node)
    tree: Tree = {}
    for key, child in value.items():
        declared = properties.get(key)
        below = _fields(child, declared or inner)
        if declared is None:
            # An entry of a map is something of its own, a field of a struct is not.
            below = with_self(below) if below else EMPTY
        if below is not None:
            tree[f"f:{key}"] = below
    return tree or None


def _declared(node: TypeNode | None) -> Any:
    if node is not None and node.shape is Shape.OBJECT and node.properties is not None:
        return node.properties()
    return EMPTY


def _map_element(node: TypeNode | None) -> TypeNode | None:
    if node is not None and node.shape is Shape.MAP and node.element is not None:
        return node.element()
    return None


def _everything(value: Any, node: TypeNode | None) -> Tree:
    """Every path of a value that appeared or went, its containers included."""
    if not value or is_atomic(value, node):
        return EMPTY
    tree: Tree = {SELF: EMPTY}
    if isinstance(value, dict):
        properties, inner = _declared(node), _map_element(node)
        for key, child in value.items():
            tree[f"f:{key}"] = _everything(child, properties.get(key) or inner)
    else:
        assert node is not None
        inner = node.element() if node.element is not None else None
        for element, item in zip(elements(value, node), value, strict=True):
            tree[element] = _everything(item, inner)
    return tree


class _Differences:
    """Three trees that grow while two values are walked side by side."""

    __slots__ = ("added", "modified", "removed")

    def __init__(self) -> None:
        self.added: Tree = {}
        self.modified: Tree = {}
        self.removed: Tree = {}

    def maps(self, old: dict[str, Any], new: dict[str, Any], node: TypeNode | None) -> None:
        properties, inner = _declared(node), _map_element(node)
        for key, value in new.items():
            before = old.get(key, ABSENT)
            if before is not value and before != value:
                self._pair(f"f:{key}", before, value, properties.get(key) or inner)
        for key, value in old.items():
            if key not in new:
                self.removed[f"f:{key}"] = _everything(value, properties.get(key) or inner)

    def lists(self, old: list[Any], new: list[Any], node: TypeNode) -> None:
        inner = node.element() if node.element is not None else None
        before = _by_element(old, node)
        after = _by_element(new, node)
        for element, items in after.items():
            earlier = before.get(element)
            if earlier is None:
                self.added[element] = EMPTY if len(items) > 1 else _everything(items[0], inner)
            elif earlier != items:
                if len(items) == len(earlier) == 1:
                    self._pair(element, earlier[0], items[0], inner)
                else:
                    self.modified[element] = EMPTY
        for element, items in before.items():
            if element not in after:
                self.removed[element] = EMPTY if len(items) > 1 else _everything(items[0], inner)

    def _pair(self, element: str, old: Any, new: Any, node: TypeNode | None) -> None:
        if old is ABSENT:
            self.added[element] = _everything(new, node)
            return
        inside = _Differences()
        shape = new if new is not None else old
        if is_atomic(shape, node) or not (old or new):
            self.modified[element] = EMPTY
            return
        if (
            isinstance(shape, dict)
            and isinstance(old, dict | None)
            and isinstance(new, dict | None)
        ):
            inside.maps(old or {}, new or {}, node)
        elif isinstance(old, list | None) and isinstance(new, list | None):
            assert node is not None
            inside.lists(old or [], new or [], node)
        else:
            self.modified[element] = EMPTY
            return
        if inside.added:
            self.added[element] = inside.added
        if inside.modified:
            self.modified[element] = inside.modified
        if inside.removed:
            self.removed[element] = inside.removed


def _by_element(items: list[Any], node: TypeNode) -> dict[str, list[Any]]:
    found: dict[str, list[Any]] = {}
    for element, item in zip(elements(items, node), items, strict=True):
        found.setdefault(element, []).append(item)
    return found
