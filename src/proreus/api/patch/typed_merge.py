"""Merge what is applied into what is there, and take paths out again, by type.

Used by ``apply``. Arguments are never changed; results share what did not change.
"""

from __future__ import annotations

from collections import Counter
from typing import Any

from proreus.api.json_types import JsonObject
from proreus.api.patch.field_sets import Tree, has_self
from proreus.api.patch.plans import WalkPlan, plan_of
from proreus.api.typed import TypeNode

_ABSENT: Any = object()


def merge(live: Any, applied: Any, node: TypeNode | None) -> Any:
    """``applied`` over ``live``: atomic values replace, others merge by key or element."""
    return _merge(live, applied, plan_of(node))


def remove(value: Any, paths: Tree, node: TypeNode | None) -> Any:
    """``value`` without the paths of a set; a map or list that loses everything becomes null."""
    return _remove(value, paths, plan_of(node))


def _merge(live: Any, applied: Any, plan: WalkPlan) -> Any:
    if plan.is_leaf or not (live or applied):
        return applied
    if isinstance(live, dict | None) and isinstance(applied, dict | None):
        merged = dict(live or {})
        for key, value in (applied or {}).items():
            known = merged.get(key, _ABSENT)
            if known is not _ABSENT and value is not known:
                below = plan.step(key)[1]
                value = value if below.is_leaf else _merge(known, value, below)
            merged[key] = value
        return merged
    if plan.is_list and isinstance(live, list | None) and isinstance(applied, list | None):
        return _merge_lists(live or [], applied or [], plan)
    return applied


def _remove(value: Any, paths: Tree, plan: WalkPlan) -> Any:
    if isinstance(value, dict):
        kept: JsonObject = {}
        for key, child in value.items():
            element, inner = plan.step(key)
            below = paths.get(element)
            if below is None:
                kept[key] = child
            elif not has_self(below):
                kept[key] = _remove(child, below, inner)
        return kept or None
    if plan.is_list and isinstance(value, list):
        left: list[Any] = []
        for element, item in zip(plan.elements(value), value, strict=True):
            below = paths.get(element)
            if below is None:
                left.append(item)
            elif not has_self(below):
                left.append(_remove(item, below, plan.inner))
        return left or None
    return value


def _merge_lists(live: list[Any], applied: list[Any], plan: WalkPlan) -> list[Any]:
    """Elements of both, in an order that keeps each side's wherever the two agree.

    The applied order wins where they differ; what only the server has stays behind the element it
    stood behind.
    """
    theirs = plan.elements(live)
    times = Counter(theirs)
    old = dict(zip(theirs, live, strict=True))
    new = {plan.element(item): item for item in applied}
    ours = iter(new)
    shared = iter([element for element in new if element in times])
    expected = next(shared, None)
    merged: list[Any] = []

    def take(element: str) -> None:
        # Of elements the server holds twice none can be merged with: the applied one replaces.
        if times[element] == 1:
            merged.append(_merge(old[element], new[element], plan.inner))
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
