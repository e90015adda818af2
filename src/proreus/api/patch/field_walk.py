"""Which paths an object sets, and which differ between two: the walk over values and types.

Lists whose type is atomic, and maps marked so, are one path; lists of type set and map are walked
by element; what has no declared type is walked by key, its lists are atomic. Equal parts are
skipped at the speed of ``==``, so comparing costs in proportion to what differs.

Invariant: trees are made sorted, as field_sets keeps them.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from proreus.api.json_types import JsonObject
from proreus.api.patch.field_sets import EMPTY, Tree, in_order, with_self
from proreus.api.patch.plans import WalkPlan, plan_of
from proreus.api.patch.shapes import everything
from proreus.api.typed import TypeNode

_ABSENT: Any = object()
_MAP_OR_NONE = (dict, type(None))
_LIST_OR_NONE = (list, type(None))


class Comparison(NamedTuple):
    added: Tree
    modified: Tree
    removed: Tree


def fields_of(value: JsonObject, node: TypeNode | None) -> Tree:
    """The paths an applied object sets: leaves, list elements, and maps that are empty."""
    return _fields(value, plan_of(node)) or EMPTY


def compare(old: JsonObject, new: JsonObject, node: TypeNode | None) -> Comparison:
    """How ``new`` differs from ``old``; what appears or goes counts with its containers."""
    walk = _Differences()
    walk.maps(old, new, plan_of(node))
    return Comparison(walk.added, walk.modified, walk.removed)


def _fields(value: Any, plan: WalkPlan) -> Tree | None:
    """The tree below a path, EMPTY for the path itself, None for nothing."""
    tree: Tree = {}
    if type(value) is dict:
        if plan.is_struct:
            steps = plan.steps
            for key in sorted(value):
                element, below, is_declared = steps[key]
                child = value[key]
                found = EMPTY if below.is_leaf or not child else _fields(child, below)
                # A list that holds nothing owns nothing; an unknown field is like a map's entry.
                if child == [] and below.is_list:
                    continue
                if not is_declared:
                    found = with_self(found or EMPTY)
                if found is not None:
                    tree[element] = found
        else:
            below = plan.inner
            for key in sorted(value):
                child = value[key]
                found = EMPTY if below.is_leaf or not child else _fields(child, below)
                # An entry of a map is something of its own, a field of a struct is not.
                tree[f"f:{key}"] = with_self(found or EMPTY)
        return tree or None
    if plan.is_list and type(value) is list:
        below = plan.inner
        for element, item in in_order(zip(plan.elements(value), value, strict=True)):
            found = EMPTY if below.is_leaf or not item else _fields(item, below)
            tree[element] = with_self(found or EMPTY)
        return tree or None
    return EMPTY


class _Differences:
    """Three trees that grow while two values are walked side by side."""

    __slots__ = ("added", "modified", "removed")

    def __init__(self) -> None:
        self.added: Tree = {}
        self.modified: Tree = {}
        self.removed: Tree = {}

    def maps(self, old: JsonObject, new: JsonObject, plan: WalkPlan) -> None:
        find = old.get
        changed = [
            key
            for key, value in new.items()
            if (before := find(key, _ABSENT)) is not value and before != value
        ]
        changed.sort()
        for key in changed:
            element, below = plan.step(key)
            self._pair(element, find(key, _ABSENT), new[key], below)
        if old.keys() <= new.keys():
            return
        for key in sorted(old.keys() - new.keys()):
            element, below = plan.step(key)
            self.removed[element] = everything(old[key], below)

    def lists(self, old: list[Any], new: list[Any], plan: WalkPlan) -> None:
        before, after = _by_element(old, plan), _by_element(new, plan)
        for element, items in in_order(after.items()):
            earlier = before.get(element)
            if earlier is None:
                self.added[element] = _all_of(items, plan.inner)
            elif earlier != items:
                if len(items) == len(earlier) == 1:
                    self._pair(element, earlier[0], items[0], plan.inner)
                else:
                    self.modified[element] = EMPTY
        for element, items in in_order(before.items()):
            if element not in after:
                self.removed[element] = _all_of(items, plan.inner)

    def _pair(self, element: str, old: Any, new: Any, plan: WalkPlan) -> None:
        if old is _ABSENT:
            self.added[element] = everything(new, plan)
            return
        if plan.is_leaf or not (old or new):
            self.modified[element] = EMPTY
            return
        inside = _Differences()
        if isinstance(old, _MAP_OR_NONE) and isinstance(new, _MAP_OR_NONE):
            inside.maps(old or {}, new or {}, plan)
        elif plan.is_list and isinstance(old, _LIST_OR_NONE) and isinstance(new, _LIST_OR_NONE):
            inside.lists(old or [], new or [], plan)
        else:
            self.modified[element] = EMPTY
            return
        if inside.added:
            self.added[element] = inside.added
        if inside.modified:
            self.modified[element] = inside.modified
        if inside.removed:
            self.removed[element] = inside.removed


def _all_of(items: list[Any], plan: WalkPlan) -> Tree:
    """Elements that cannot be distinguished are one path, without what is inside."""
    return EMPTY if len(items) > 1 else everything(items[0], plan)


def _by_element(items: list[Any], plan: WalkPlan) -> dict[str, list[Any]]:
    found: dict[str, list[Any]] = {}
    for element, item in zip(plan.elements(items), items, strict=True):
        found.setdefault(element, []).append(item)
    return found
