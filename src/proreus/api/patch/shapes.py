"""All field paths of a value, cached by its shape: objects of one template own the same paths.

Which paths a value has depends on its keys and on the names of its list elements, not on what is in
its leaves. So a tree is found by the keys of its dictionary and the identities of the trees below,
which were found in the same way: equal shapes give the very same tree, and a walk over a pod that
resembles an earlier one makes no dictionary at all. Cost: about 15 µs for a pod of 3.7 kB, three
times that for a shape never seen.

Bound: each type remembers so many shapes, none of them wide, and forgets all when it is full.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import repeat
from operator import eq
from typing import Any

from proreus.api.json_types import Json, JsonObject
from proreus.api.patch.field_sets import EMPTY, SELF, Tree, in_order
from proreus.api.patch.plans import WalkPlan
from proreus.api.wire import json

_SHAPES_MAX = 128
_WIDTH_MAX = 256
_DICTS = {dict}
_TEXTS_MAX = 1024
_TEXT_BYTES_MAX = 4096


class _Uncached(dict[str, Any]):
    """A tree that is not cached: too wide, or ambiguous."""


def is_cached(tree: Tree) -> bool:
    """Whether an equal shape will give the very same tree again."""
    return type(tree) is dict


def everything(value: Any, plan: WalkPlan) -> Tree:
    """Every path of a value that appeared or went, its containers included."""
    if not value or plan.is_leaf:
        return EMPTY
    if type(value) is dict:
        return _of_struct(value, plan) if plan.is_struct else _of_map(value, plan)
    if plan.is_list and type(value) is list:
        return _of_list(value, plan)
    return EMPTY


class TreesByText:
    """Trees of one field, by the text of what is below it: the spec of a template comes again and
    again, and pods of one template differ in leaves such as their node's name.

    Cost of a hit: writing the value down and looking it up, 3 µs for 2 kB.
    """

    def __init__(self, field: str) -> None:
        self._field = field
        self._trees: dict[tuple[tuple[str, ...], bytes], Tree] = {}

    def everything(self, obj: Any, plan: WalkPlan) -> Tree:
        """As ``everything``, the function."""
        value = obj.get(self._field) if type(obj) is dict and plan.is_struct else None
        if type(value) is not dict:
            return everything(obj, plan)
        below = plan.steps[self._field][1]
        keys = tuple(value) if below.is_struct else ()
        deep = [value[key] for key, _ in _deep_fields(below, keys)] if keys else value
        text = json.encode(deep)
        tree = self._trees.get((keys, text))
        if tree is None:
            tree = everything(value, below)
            if is_cached(tree) and len(text) + sum(map(len, keys)) <= _TEXT_BYTES_MAX:
                if len(self._trees) >= _TEXTS_MAX:
                    del self._trees[next(iter(self._trees))]
                self._trees[keys, text] = tree
        return _of_struct(obj, plan, self._field, tree)


def _of_struct(value: JsonObject, plan: WalkPlan, given: str = "", known_as: Tree = EMPTY) -> Tree:
    """``known_as`` is the tree of the field ``given``, if there is one."""
    keys = tuple(value)
    known = plan.shapes.get(keys)
    if known is not None:  # all its fields are leaves
        return known
    deep = _deep_fields(plan, keys)
    below = [known_as if key == given else everything(value[key], inner) for key, inner in deep]
    shape = (keys, *map(id, below)) if deep else keys
    known = plan.shapes.get(shape)
    if known is not None:
        return known
    steps, found = plan.steps, {key: tree for (key, _), tree in zip(deep, below, strict=True)}
    tree: Tree = {SELF: EMPTY}
    for key in sorted(keys):
        tree[steps[key][0]] = found.get(key, EMPTY)
    return _remembered(plan, shape, tree, below)


def _deep_fields(plan: WalkPlan, keys: tuple[str, ...]) -> tuple[tuple[str, WalkPlan], ...]:
    """The fields of a struct with these keys that are no leaves."""
    deep = plan.deep_keys.get(keys)
    if deep is None:
        steps = plan.steps
        deep = tuple((key, steps[key][1]) for key in keys if not steps[key][1].is_leaf)
        if len(keys) <= _WIDTH_MAX:
            _put(plan.deep_keys, keys, deep)
    return deep


def _of_map(value: JsonObject, plan: WalkPlan) -> Tree:
    inner = plan.inner
    keys = tuple(value)
    below: list[Tree] = []
    shape: tuple[Any, ...] = keys
    if not inner.is_leaf:
        below = [everything(item, inner) for item in value.values()]
        shape = (keys, *map(id, below))
    known = plan.shapes.get(shape)
    if known is not None:
        return known
    tree: Tree = {SELF: EMPTY}
    if inner.is_leaf:
        for key in sorted(keys):
            tree[f"f:{key}"] = EMPTY
    else:
        for key, found in sorted(zip(keys, below, strict=True), key=_first):
            tree[f"f:{key}"] = found
    return _remembered(plan, shape, tree, below)


def _of_list(value: list[Any], plan: WalkPlan) -> Tree:
    inner = plan.inner
    if inner.is_struct and {*map(type, value)} == _DICTS:
        flat = inner.shapes.get
        below = [flat(tuple(item)) or everything(item, inner) for item in value]
    else:
        below = [everything(item, inner) for item in value]
    names = plan.names(value)
    elements = plan.elements(value) if names is None else []
    shape = (names, *elements, *map(id, below))
    known = plan.shapes.get(shape)
    if known is not None:
        return known
    tree: Tree = {SELF: EMPTY}
    for element, found in in_order(zip(elements or plan.elements(value), below, strict=True)):
        tree[element] = found
    if len(tree) <= len(value):  # elements that cannot be distinguished are one path
        return _Uncached(tree)
    return _remembered(plan, shape, tree, below)


def _first(pair: tuple[str, Tree]) -> str:
    return pair[0]


def _remembered(plan: WalkPlan, shape: tuple[Any, ...], tree: Tree, below: list[Tree]) -> Tree:
    """The trees below, known by their identity, live as long as the one that holds them."""
    if len(shape) > _WIDTH_MAX or not all(map(is_cached, below)):
        return _Uncached(tree)
    _put(plan.shapes, shape, tree)
    return tree


def _put(known: dict[tuple[Any, ...], Any], shape: tuple[Any, ...], found: Any) -> None:
    if len(known) >= _SHAPES_MAX:
        known.clear()
    known[shape] = found


class EmptyObjectLeaves:
    """The leaves of a kind's empty object, which a new object may leave as they are.

    Compared with the empty object, two objects of one shape differ in the same paths if each of
    these leaves is, or is not, as it was.
    """

    def __init__(self, empty: Json) -> None:
        leaves = list(_leaves(empty, ()))
        self._shallow = [path[0] for path, _ in leaves if len(path) == 1]
        self._shallow_zeros = [zero for path, zero in leaves if len(path) == 1]
        self._deep = [(path, zero) for path, zero in leaves if len(path) != 1]

    def kept(self, obj: Json) -> tuple[bool, ...]:
        """Of each leaf whether ``obj`` has it as it is in the empty object."""
        found = map(obj.get, self._shallow, repeat(_NOWHERE))
        deep = [_at(obj, path) == zero for path, zero in self._deep]
        return (*map(eq, found, self._shallow_zeros), *deep)


_NOWHERE: Any = object()


def _leaves(value: Any, path: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], Any]]:
    if isinstance(value, Mapping) and value:
        for key, below in value.items():
            yield from _leaves(below, (*path, key))
    else:
        yield path, value


def _at(obj: Any, path: tuple[str, ...]) -> Any:
    for key in path:
        if type(obj) is not dict:
            return _NOWHERE
        obj = obj.get(key, _NOWHERE)
    return obj
