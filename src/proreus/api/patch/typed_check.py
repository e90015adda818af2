"""Whether an applied object fits its type: every fault, with its path, in the server's words."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from proreus.api import go_text
from proreus.api.patch.field_sets import element_text
from proreus.api.patch.plans import ElementError, WalkPlan, plan_of
from proreus.api.typed import Shape, TypeNode


def faults(value: Any, node: TypeNode | None, path: str = "") -> Iterator[str]:
    """One ``<path>: <what is wrong>`` per fault; null fits everything."""
    if value is None or node is None:
        return
    match node.shape:
        case Shape.OBJECT:
            yield from _object(value, node, path)
        case Shape.MAP:
            yield from _map(value, node, path)
        case Shape.LIST:
            yield from _list(value, node, path)
        case Shape.ANY:
            return
        case _:
            if wrong := _scalar(value, node.shape):
                yield _at(path, wrong)


def fits(value: Any, node: TypeNode | None) -> bool:
    """Whether there are no faults, said quickly: most objects that are applied have none."""
    return _fits(value, plan_of(node))


def joined(found: list[str]) -> str:
    if len(found) == 1:
        return found[0]
    return "\n  ".join(["errors:", *found])


def _object(value: Any, node: TypeNode, path: str) -> Iterator[str]:
    if not isinstance(value, dict):
        yield _at(path, f"expected map, got &{{{go_text.plain(value)}}}")
        return
    for key, child in value.items():
        field = node.field_of(key)
        if field is not None:
            yield from faults(child, field, f"{path}.{key}")
        elif not node.preserve_unknown:
            yield _at(f"{path}.{key}", "field not declared in schema")


def _map(value: Any, node: TypeNode, path: str) -> Iterator[str]:
    if not isinstance(value, dict):
        yield _at(path, f"expected map, got &{{{go_text.plain(value)}}}")
        return
    inner = node.element() if node.element is not None else None
    for key, child in value.items():
        yield from faults(child, inner, f"{path}.{key}")


def _list(value: Any, node: TypeNode, path: str) -> Iterator[str]:
    if not isinstance(value, list):
        yield _at(path, f"expected list, got &{{{go_text.plain(value)}}}")
        return
    inner = node.element() if node.element is not None else None
    plan = plan_of(node)
    seen: set[str] = set()
    for index, item in enumerate(value):
        place = f"[{index}]"
        if plan.is_list:
            try:
                element = plan.element(item)
            except ElementError as fault:
                yield _at(path, f"element {index}: {fault}")
                return
            place = element_text(element)
            if element in seen:
                yield _at(path, f"duplicate entries for key {place}")
            seen.add(element)
        yield from faults(item, inner, path + place)


def _scalar(value: Any, shape: Shape) -> str:
    match shape:
        case Shape.INTEGER | Shape.NUMBER:
            if isinstance(value, bool) or not isinstance(value, int | float):
                return f"expected numeric (int or float), got {go_text.type_name(value)}"
        case Shape.BOOLEAN:
            if not isinstance(value, bool):
                return f"expected boolean, got &{{{go_text.plain(value)}}}"
        case Shape.STRING | Shape.BYTES:
            if not isinstance(value, str):
                text = go_text.syntax(value)
                return f"expected string, got &value.valueUnstructured{{Value:{text}}}"
        case _:
            if isinstance(value, dict | list):
                return f"expected any scalar, got &{{{go_text.plain(value)}}}"
    return ""


def _at(path: str, fault: str) -> str:
    return f"{path}: {fault}" if path else fault


def _fits(value: Any, plan: WalkPlan) -> bool:
    if type(value) in plan.types:
        return True
    node = plan.node
    if type(value) is dict:
        if plan.is_struct:
            steps = plan.steps
            is_open = node is not None and node.preserve_unknown
            for key, child in value.items():
                _, below, is_declared = steps[key]
                if not (is_declared or is_open):
                    return False
                if type(child) not in below.types and not _fits(child, below):
                    return False
            return True
        below = plan.inner
        return (
            node is not None
            and node.shape is Shape.MAP
            and all(type(child) in below.types or _fits(child, below) for child in value.values())
        )
    if type(value) is list and node is not None and node.shape is Shape.LIST:
        if plan.is_list:
            elements = plan.elements(value)
            if len(set(elements)) < len(value) or any(e[0] == "i" for e in elements):
                return False
        below = plan.inner
        return all(type(item) in below.types or _fits(item, below) for item in value)
    return False
