"""Merge what is applied into what is there, and take paths out again, by type.

Used by ``apply``. Arguments are never changed; results share what did not change.
"""

from __future__ import annotations

from collections import Counter
from typing import Any

from proreus.api.patch.field_sets import Tree, has_self
from proreus.api.patch.field_walk import element_of, elements, is_atomic
from proreus.api.typed import TypeNode


def merge(live: Any, applied: Any, node: TypeNode | None) -> Any:
    """``applied`` over ``live``: atomic values replace, others merge by key or element."""
    shape = applied if applied is not None else live
    if is_atomic(shape, node) or not (live or applied):
        return applied
    if isinstance(live, dict | None) and isinstance(applied, dict | None):
        return _merge_maps(live or {}, applied or {}, node)
    if isinstance(live, list | None) and isinstance(applied, list | None):
        assert node is not None
        return _merge_lists(live or [], applied or [], node)
    return applied


def remove(value: Any, paths: Tree, node: TypeNode | None) -> Any:
    """``value`` without the paths of a set; a map or list that loses everything becomes null."""
    if isinstance(value, dict):
        kept: dict[str, Any] = {}
        for key, child in value.items():
            below = paths.get(f"f:{key}")
            if below is None:
                kept[key] = child
            elif not has_self(below):
                kept[key] = remove(child, below, node.field_of(key) if node else None)
        return kept or None
    if isinstance(value, list) and not is_atomic(value, node):
        assert node is not None
        inner = node.element() if node.element is not None else None
        left: list[Any] = []
        for element, item in zip(elements(value, node), value, strict=True):
            below = paths.get(element)
            if below is None:
                left.append(item)
            elif not has_self(below):
                left.append(remove(item, below, inner))
        return left or None
    return value


def _merge_maps(
    live: dict[str, Any], applied: dict[str, Any], node: TypeNode | None
) -> dict[str, Any]:
    merged = dict(live)
    for key, value in applied.items():
        if key in live:
            merged[key] = merge(live[key], value, node.field_of(key) if node else None)
        else:
            merged[key] = value
    return merged


def _merge_lists(live: list[Any], applied: list[Any], node: TypeNode) -> list[Any]:
    """Elements of both, in an order that keeps each side's wherever the two agree.

    The applied order wins where they differ; what only the server has stays behind the element it
    stood behind.
    """
    inner = node.element() if node.element is not None else None
    theirs = elements(live, node)
    times = Counter(theirs)
    old = dict(zip(theirs, live, strict=True))
    new = {element_of(item, node): item for item in applied}
    ours = iter(new)
    shared = iter([element for element in new if element in times])
    expected = next(shared, None)
    merged: list[Any] = []

    def take(element: str) -> None:
        # Of elements the server holds twice none can be merged with: the applied one replaces.
        if times[element] == 1:
            merged.append(merge(old[element], new[element], inner))
        else:
            merged.append(new[element])

    for element, item in zip(theirs, live, strict=True):
        if element not in new:
            merged.append(item)
        elif element == expected:
            for earlier in ours:
                take(earlier)
                if earlier == element:
                    break
            expected = next(shared, None)
        # Otherwise its turn comes, or came, where the applied list has it.
    for element in ours:
        take(element)
    return merged
