"""Sets of field paths, kept in the very form managedFields stores them: FieldsV1 trees.

    {"f:data": {".": {}, "f:x": {}}, "f:spec": {"f:ports": {'k:{"port":80}': {".": {}}}}}

Keys are path elements: ``f:`` a field, ``k:`` a list element by its keys, ``v:`` a list element by
its value, ``i:`` one by its index. An empty tree below an element means the path itself is in the
set; otherwise ``.`` says so.

Invariant: trees are sorted as a server writes them, shared, and never changed. So reading and
writing an entry is no work, and the operations cost in proportion to the smaller operand.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import lru_cache
from typing import Any

from proreus.api import go_text
from proreus.api.json_types import JsonObject
from proreus.api.typed import Shape, TypeNode
from proreus.api.wire import json

Tree = JsonObject  # str -> Tree

SELF = "."
EMPTY: Tree = {}
_RANK = {SELF: 0, "f": 1, "k": 2, "v": 3, "i": 4}


class FieldSetError(ValueError):
    """Text that is no FieldsV1."""


def parse(fields: Any) -> Tree:
    """A set from the FieldsV1 of a client; raises FieldSetError for anything else."""
    if not isinstance(fields, dict):
        raise FieldSetError(f"expected an object, got {go_text.json_kind(fields)}")
    return dict(
        in_order(
            (_canonical(e), EMPTY if e == SELF else parse(below)) for e, below in fields.items()
        )
    )


def in_order(pairs: Iterable[tuple[str, Any]]) -> list[tuple[str, Any]]:
    """Pairs of elements and what belongs to them, in the order of a tree."""
    ordered = list(pairs)
    if len(ordered) > 1:
        ordered.sort(key=_by_element)
    return ordered


def has_self(tree: Tree) -> bool:
    """Whether the path that leads to ``tree`` is itself in the set."""
    return not tree or SELF in tree


def with_self(tree: Tree) -> Tree:
    return tree if has_self(tree) else {SELF: EMPTY, **tree}


def union(left: Tree, right: Tree) -> Tree:
    """Sets of whole objects: the empty tree is the empty set here."""
    if not left or not right or left is right:
        return left or right
    joined = dict(left)
    for element, below in right.items():
        known = joined.get(element)
        joined[element] = below if known is None else _join(known, below)
    return joined if len(joined) == len(left) else dict(in_order(joined.items()))


def difference(left: Tree, right: Tree) -> Tree:
    """The paths of ``left`` that are not in ``right``."""
    if not right or not left:
        return left
    if left == right:
        return EMPTY
    kept: Tree = {}
    for element, below in left.items():
        other = right.get(element)
        if other is None:
            kept[element] = below
        elif (rest := _subtract(below, other)) is not None:
            kept[element] = rest
    return kept


def intersection(left: Tree, right: Tree) -> Tree:
    common: Tree = {}
    for element, below in left.items():
        other = right.get(element)
        if other is not None and (shared := _meet(below, other)) is not None:
            common[element] = shared
    return common


@lru_cache(maxsize=256)
def of_paths(paths: tuple[tuple[str, ...], ...]) -> Tree:
    """The set of these fields, each given as its names from the root."""
    tree: Tree = {}
    for path in paths:
        branch: Tree = {}
        for name in reversed(path):
            branch = {f"f:{name}": branch}
        tree = union(tree, branch)
    return tree


def includes(tree: Tree, part: Tree) -> bool:
    """Whether every path of ``part`` is in ``tree``, and none ends in it that goes on there."""
    for element, below in part.items():
        known = tree.get(element)
        if known is None or (not includes(known, below) if below else known):
            return False
    return True


def meets(left: Tree, right: Tree) -> bool:
    """Whether a path is in both: ``intersection``, not made."""
    for element, below in right.items():
        other = left.get(element)
        if other is None:
            continue
        if not below or not other:
            if has_self(below) and has_self(other):
                return True
        elif meets(other, below):
            return True
    return False


def outside(tree: Tree, fields: Tree) -> Tree:
    """``tree`` without everything at or below a path in ``fields``."""
    if fields.keys().isdisjoint(tree):
        return tree
    kept: Tree = {}
    for element, under in tree.items():
        cut = fields.get(element)
        if cut is None:
            kept[element] = under
        elif not has_self(cut):
            rest = outside(under, cut)
            if rest or not under:
                kept[element] = EMPTY if rest.keys() == {SELF} else rest
    return kept


def with_named_fields(tree: Tree, node: TypeNode | None) -> Tree:
    """The set plus every declared field that has paths below it in the set."""
    grown: Tree = {}
    declared = node is not None and node.shape is Shape.OBJECT
    for element, under in tree.items():
        child = _child_node(node, element)
        deeper = with_named_fields(under, child) if under else under
        is_field = declared and element[:2] == "f:" and child is not None
        grown[element] = with_self(deeper) if is_field else deeper
    return grown


def paths(tree: Tree, prefix: str = "") -> Iterator[str]:
    """Every path as messages print it: at each level the set's own, then the deeper ones."""
    elements = [element for element in tree if element != SELF]
    for element in elements:
        if has_self(tree[element]):
            yield prefix + element_text(element)
    for element in elements:
        yield from paths(tree[element], prefix + element_text(element))


@lru_cache(maxsize=1024)
def element_text(element: str) -> str:
    """A path element in a message: ``.data``, ``[name="a"]``, ``[="x"]``, ``[3]``."""
    kind, text = element[:1], element[2:]
    match kind:
        case "f":
            return f".{text}"
        case "k":
            keys = json.decode(text)
            return f"[{','.join(f'{k}={_value_text(v)}' for k, v in keys.items())}]"
        case "v":
            return f"[={_value_text(json.decode(text))}]"
        case _:
            return f"[{text}]"


def _value_text(value: Any) -> str:
    match value:
        case str():
            return go_text.quoted(value)
        case dict():
            return "".join(f"{key}={_value_text(item)}" for key, item in value.items())
        case list():
            return f"[{','.join(map(_value_text, value))}]"
        case None:
            return "null"
        case _:
            return go_text.plain(value)


def _child_node(node: TypeNode | None, element: str) -> TypeNode | None:
    if node is None or element == SELF:
        return None
    if element[:2] == "f:":
        return node.field_of(element[2:])
    return node.element() if node.element is not None else None


def _join(left: Tree, right: Tree) -> Tree:
    """Union of two trees below one element, where empty means the element itself."""
    if not left or not right:
        return with_self(left) if left else with_self(right) if right else EMPTY
    return union(left, right)


def _subtract(left: Tree, right: Tree) -> Tree | None:
    """What remains below an element; None if nothing, not even the element."""
    if not left:
        return None if has_self(right) else left
    if not right:
        rest = {element: under for element, under in left.items() if element != SELF}
        return rest or None
    rest = difference(left, right)
    if rest.keys() == {SELF}:
        return EMPTY
    return rest or None


def _meet(left: Tree, right: Tree) -> Tree | None:
    if not left:
        return EMPTY if has_self(right) else None
    if not right:
        return EMPTY if has_self(left) else None
    common = intersection(left, right)
    if common.keys() == {SELF}:
        return EMPTY
    return common or None


def _by_element(pair: tuple[str, Any]) -> tuple[Any, ...]:
    return _order(pair[0])


@lru_cache(maxsize=16_384)
def _order(element: str) -> tuple[Any, ...]:
    """Fields by name, list elements by their keys, numbers before strings and by size."""
    rank = _RANK[element[:1]]
    if element[:1] == "k":
        keys = json.decode(element[2:])
        return (rank, *((name, *_value_order(value)) for name, value in keys.items()), (element,))
    return (rank, element)


def _value_order(value: Any) -> tuple[int, float, str]:
    match value:
        case bool() | None:
            return (2, 0, str(value))
        case int() | float():
            return (0, value, "")
        case _:
            return (1, 0, str(value))


@lru_cache(maxsize=4096)
def _canonical(element: str) -> str:
    """An element as this module writes it; foreign writers may space or sort otherwise."""
    if element == SELF:
        return element
    kind, colon, text = element.partition(":")
    if not colon or kind not in _RANK:
        raise FieldSetError(f"missing colon: {element}" if not colon else f"unknown: {element}")
    if kind in ("f", "i"):
        return element
    try:
        value = json.decode(text)
    except json.JSONDecodeError as bad:
        raise FieldSetError(f"parsing {element}") from bad
    if kind == "k" and not isinstance(value, dict):
        raise FieldSetError(f"expected an object: {element}")
    try:
        return key_element(value) if kind == "k" else value_element(value)
    except json.JSONEncodeError as deep:  # more is decoded than can be encoded
        raise FieldSetError("exceeded max depth") from deep


def key_element(keys: JsonObject) -> str:
    return sorted_key_element(dict(sorted(keys.items())))


def sorted_key_element(keys: JsonObject) -> str:
    return "k:" + json.encode(keys).decode()


def value_element(value: Any) -> str:
    return "v:" + json.encode(value).decode()
