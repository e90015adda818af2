"""A type, prepared for walking values: which parts are one path, and what the paths are called.

Made once per type and kept, because every write walks its object: the walk then looks up a key and
finds the path element and the plan below it, instead of asking the type anew.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from proreus.api.json_types import JsonObject
from proreus.api.patch import field_sets
from proreus.api.typed import ListType, Shape, TypeNode

_STRINGS = {str}
_NOTHING = frozenset({type(None)})
_NUMBER = _NOTHING | {int, float}
_TEXT = _NOTHING | {str}
_SCALAR = _NOTHING | {str, int, float, bool}
_TYPES: dict[Shape, frozenset[type]] = {
    Shape.OBJECT: _NOTHING,
    Shape.MAP: _NOTHING,
    Shape.LIST: _NOTHING,
    Shape.STRING: _TEXT,
    Shape.BYTES: _TEXT,
    Shape.INTEGER: _NUMBER,
    Shape.NUMBER: _NUMBER,
    Shape.BOOLEAN: _NOTHING | {bool},
    Shape.INT_OR_STRING: _SCALAR,
    Shape.QUANTITY: _SCALAR,
    Shape.TIME: _SCALAR,
    Shape.MICRO_TIME: _SCALAR,
    Shape.ANY: _SCALAR | {dict, list},
}


class ElementError(ValueError):
    """A list element without an identity of its own."""


class _Steps(dict[str, tuple[str, "WalkPlan", bool]]):
    """Key of a struct → path element, plan, declared; undeclared keys are not remembered."""

    def __init__(self, node: TypeNode) -> None:
        properties = node.properties() if node.properties is not None else {}
        super().__init__(
            (key, (f"f:{key}", plan_of(field), True)) for key, field in properties.items()
        )

    def __missing__(self, key: str) -> tuple[str, WalkPlan, bool]:
        return f"f:{key}", OPEN, False


class WalkPlan:
    """How to walk values of one type.

    ``is_leaf``: the value is one path whatever is in it. A plan that is none walks dictionaries by
    ``steps`` (a struct) or by ``inner`` (a map), and lists, if ``is_list``, by element and
    ``inner``. Values of another type than the plan's are leaves. ``types``: the JSON types that fit
    without a look inside. ``shapes`` and ``deep_keys`` are what ``shapes`` remembers of the type:
    trees, and which fields of a struct with these keys are no leaves.
    """

    __slots__ = (
        "_inner", "_keys", "_steps", "deep_keys", "is_leaf", "is_list", "is_struct", "node",
        "shapes", "types",
    )  # fmt: skip

    def __init__(self, node: TypeNode | None) -> None:
        shape = node.shape if node is not None else Shape.ANY
        self.node = node
        self.is_struct = shape is Shape.OBJECT
        self.is_list = (
            node is not None and shape is Shape.LIST and node.list_type is not ListType.ATOMIC
        )
        walked = self.is_struct or self.is_list or shape in (Shape.MAP, Shape.ANY)
        self.is_leaf = not walked or (node is not None and node.atomic_map)
        self.types = _TYPES[shape]
        self._steps: _Steps | None = None
        self._inner: WalkPlan | None = None
        self.shapes: dict[tuple[Any, ...], field_sets.Tree] = {}
        self.deep_keys: dict[tuple[Any, ...], tuple[tuple[str, WalkPlan], ...]] = {}
        self._keys: tuple[tuple[str, Any], ...] | None = None

    @property
    def steps(self) -> _Steps:
        if self._steps is None:
            assert self.node is not None
            self._steps = _Steps(self.node)
        return self._steps

    @property
    def inner(self) -> WalkPlan:
        """The plan of a map's values or a list's elements."""
        if self._inner is None:
            node = self.node
            known = node is not None and node.element is not None
            self._inner = plan_of(node.element()) if known else OPEN  # type: ignore[union-attr,misc]
        return self._inner

    def step(self, key: str) -> tuple[str, WalkPlan]:
        """The path element and plan of a dictionary's key."""
        if self.is_struct:
            element, below, _ = (self._steps or self.steps)[key]
            return element, below
        return f"f:{key}", self.inner

    def names(self, items: list[Any]) -> tuple[str, ...] | None:
        """What tells items apart, if that is one key and a text for each."""
        keys = self._list_keys()
        if len(keys) != 1:
            return None
        key = keys[0][0]
        try:
            found = tuple([item[key] for item in items])
        except (KeyError, TypeError):
            return None
        return found if {*map(type, found)} == _STRINGS else None

    def elements(self, items: list[Any]) -> list[str]:
        """The path element of each item of a list; by index where it has no identity."""
        keys = self._list_keys()
        if len(keys) == 1:
            name = keys[0][0]
            try:
                return [_one_key_element(name, item[name]) for item in items]
            except (KeyError, TypeError):
                pass
        elif keys:
            names, defaults = zip(*keys, strict=True)
            try:
                return [
                    _several_keys_element(names, *map(item.get, names, defaults)) for item in items
                ]
            except (AttributeError, TypeError):
                pass
        found: list[str] = []
        for index, item in enumerate(items):
            try:
                found.append(self.element(item))
            except ElementError:
                found.append(f"i:{index}")
        return found

    def element(self, item: Any) -> str:
        """The path element of a list's item; raises ElementError, worded like the server."""
        assert self.node is not None
        if self.node.list_type is ListType.SET:
            if isinstance(item, list):
                raise ElementError("not supported: associative list with lists as elements")
            if isinstance(item, dict):
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
        keys: JsonObject = {}
        for key, default in self._list_keys():
            if key in item:
                keys[key] = item[key]
            elif default is not None:
                keys[key] = default
        if not keys:
            wanted = " ".join(f'"{key}"' for key in self.node.list_map_keys)
            raise ElementError(
                f"associative list with keys has an element that omits all key fields [{wanted}] "
                "(and doesn't have default values for any key fields)"
            )
        return field_sets.sorted_key_element(keys)

    def _list_keys(self) -> tuple[tuple[str, Any], ...]:
        """The keys of elements in the order they are written, with their defaults."""
        if self._keys is None:
            assert self.node is not None
            names = sorted(self.node.list_map_keys)
            self._keys = tuple((name, self._default(name)) for name in names)
        return self._keys

    def _default(self, key: str) -> Any:
        element = self.inner.node
        field = element.field_of(key) if element is not None else None
        return field.default if field is not None else None


@lru_cache(maxsize=16_384, typed=True)
def _one_key_element(key: str, value: Any) -> str:
    """Names repeat from object to object, and every walk of a list asks for them."""
    if value is None:
        raise TypeError
    return field_sets.sorted_key_element({key: value})


@lru_cache(maxsize=16_384, typed=True)
def _several_keys_element(names: tuple[str, ...], *values: Any) -> str:
    """As above, for ports: by number and protocol."""
    keys = {name: value for name, value in zip(names, values, strict=True) if value is not None}
    if not keys:
        raise TypeError
    return field_sets.sorted_key_element(keys)


@lru_cache(maxsize=16_384)
def plan_of(node: TypeNode | None) -> WalkPlan:
    return WalkPlan(node)


OPEN = plan_of(None)  # no type known: dictionaries are walked by key, lists are one path
