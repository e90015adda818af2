"""Estimated worst-case cost of a rule, from the sizes that the schema allows.

Costs are Kubernetes': a step is 1, going through a text a tenth per character, a loop its body
times the largest number of elements. The budget it is held against stands in ``declared``.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import assert_never

from proreus.server.cel import syntax
from proreus.server.cel.call_costs import call_facts
from proreus.server.cel.checker import OLD, is_optional_old
from proreus.server.cel.shapes import ShapeKind, ValueShape
from proreus.server.cel.sizes import ONE, UNKNOWN, Facts, Size, capped

_MAKE_LIST, _MAKE_MAP = 10, 30
_SCALARS = ("bool", "int", "uint", "double", "duration", "timestamp")
_KEY = ValueShape(ShapeKind.STRING)  # Kubernetes counts no characters in the keys of maps


def estimated_cost(node: syntax.Node, variables: Mapping[str, ValueShape | None]) -> int:
    return _facts(node, _roots(variables)).cost


def result_kind(node: syntax.Node, variables: Mapping[str, ValueShape | None]) -> str:
    """The kind of value an expression makes, by its schema where the checker could not say."""
    if node.type.name != "dyn":
        return node.type.name
    shape = _facts(node, _roots(variables)).shape
    return "dyn" if shape is None else str(shape.kind.value)


def _roots(variables: Mapping[str, ValueShape | None]) -> dict[str, Facts]:
    return {
        name: Facts(1, UNKNOWN) if shape is None else _at(shape, 1)
        for name, shape in variables.items()
    }


def _at(shape: ValueShape, cost: int) -> Facts:
    return Facts(cost, Size(0, shape.largest), shape)


def _facts(node: syntax.Node, names: Mapping[str, Facts]) -> Facts:
    match node:
        case syntax.Constant():
            return Facts(0, _literal(node))
        case syntax.Identifier():
            known = names.get(node.name)
            if known is not None:
                return known.with_cost(1)
            # The name of a type: Kubernetes takes its size to be that of what the rule is about.
            return Facts(1, next(iter(names.values())).size)
        case syntax.Select():
            return _select(node, names)
        case syntax.Call():
            return _call(node, names)
        case syntax.MakeList():
            return _list(node, names)
        case syntax.MakeMap():
            return _map(node, names)
        case syntax.Comprehension():
            return _comprehension(node, names)
        case _:
            assert_never(node)


def _literal(node: syntax.Constant) -> Size:
    length = len(node.value) if isinstance(node.value, str | bytes) else 1
    return Size(length, length)


def _typed(kind: syntax.Type, cost: int) -> Facts:
    return Facts(cost, ONE if kind.name in _SCALARS else UNKNOWN)


def _select(node: syntax.Select, names: Mapping[str, Facts]) -> Facts:
    operand = _facts(node.operand, names)
    if node.is_test:
        return Facts(operand.cost, ONE)  # asking for presence is free
    cost = operand.cost + (0 if node.operand.type.name == "dyn" else 1)
    shape = operand.shape
    if shape is not None and node.field in shape.fields:
        return _at(shape.fields[node.field].shape, capped(cost))
    if shape is not None and shape.kind is ShapeKind.MAP and shape.element is not None:
        # Kubernetes looks for a field of that name: it finds values of maps by their index alone.
        return replace(_at(shape.element, capped(cost)), size=_typed(node.type, 0).size)
    return _typed(node.type, capped(cost))


def _call(node: syntax.Call, names: Mapping[str, Facts]) -> Facts:
    if is_optional_old(node):
        return names[OLD]
    operands = [_facts(one, names) for one in node.operands]
    spent = capped(sum(one.cost for one in operands))
    match node.function:
        case "_&&_" | "_||_":
            return Facts(spent, ONE)
        case "_?_:_":
            test, yes, no = operands
            cost = capped(test.cost + max(yes.cost, no.cost))
            return replace(yes, cost=cost, size=yes.size | no.size, shape=yes.shape or no.shape)
        case "dyn":
            return operands[0].with_cost(spent + 1)
        case "_[_]" | "_[?_]" | "_?._":
            found = _part(operands[0], node, next(iter(names.values())))
            return found.with_cost(spent + 1)
        case _:
            found = call_facts(node, operands)
            if found.size == UNKNOWN and node.type.name in _SCALARS:
                found = replace(found, size=ONE)
            return found.with_cost(spent + found.cost)


def _part(whole: Facts, node: syntax.Call, root: Facts) -> Facts:
    if whole.element is not None:
        return whole.element
    shape = whole.shape
    if shape is None and node.function == "_[_]" and node.type.name not in _SCALARS:
        return root  # as it stands nowhere in the schema
    if shape is not None and shape.element is not None:
        return _at(shape.element, 0)
    key = node.arguments[-1]
    if shape is not None and isinstance(key, syntax.Constant) and key.value in shape.fields:
        return _at(shape.fields[key.value].shape, 0)
    return _typed(node.type, 0)


def _list(node: syntax.MakeList, names: Mapping[str, Facts]) -> Facts:
    elements = [_facts(one, names) for one in node.elements]
    cost = capped(sum(one.cost for one in elements) + _MAKE_LIST)
    length = len(elements)
    size = Size(length - len(node.optional), length)
    return Facts(cost, size, element=_joined(elements))


def _map(node: syntax.MakeMap, names: Mapping[str, Facts]) -> Facts:
    keys = [_facts(entry.key, names) for entry in node.entries]
    values = [_facts(entry.value, names) for entry in node.entries]
    cost = capped(sum(one.cost for one in [*keys, *values]) + _MAKE_MAP)
    size = Size(0, len(keys))
    return Facts(cost, size, element=_joined(values), key=_joined(keys))


def _joined(parts: list[Facts]) -> Facts | None:
    if not parts:
        return None
    size = parts[0].size
    for other in parts[1:]:
        size = size | other.size
    shape = parts[0].shape if all(one.shape is parts[0].shape for one in parts) else None
    return Facts(0, size, shape, parts[0].element)


def _comprehension(node: syntax.Comprehension, names: Mapping[str, Facts]) -> Facts:
    over = _facts(node.range, names)
    initial = _facts(node.initial, names)
    inside = {**names, node.accumulator: initial}
    if not node.variable.startswith("#"):  # a binding loops over nothing
        inside |= _variables(node, over, next(iter(names.values())))
    each = _facts(node.condition, inside).cost
    step = _facts(node.step, inside)
    result = _facts(node.result, {**names, node.accumulator: initial})
    loop = capped(over.size.high * (each + step.cost))
    cost = capped(over.cost + initial.cost + result.cost + loop)
    match node.initial:
        case syntax.MakeList() | syntax.MakeMap():
            return Facts(cost, Size(0, over.size.high), element=step.element, key=step.key)
        case _:
            return result.with_cost(cost)


def _variables(node: syntax.Comprehension, over: Facts, root: Facts) -> dict[str, Facts]:
    """What stands nowhere in the schema is looked up as if it were what the rule is about."""
    is_list = over.shape.kind is ShapeKind.LIST if over.shape else node.range.type.name == "list"
    value = key = replace(root, cost=0)
    if over.shape is not None:
        key, value = _at(_KEY, 0), Facts(0)
        if over.shape.element is not None:
            value = _at(over.shape.element, 0)
    if node.second:
        return {node.variable: Facts(0, ONE) if is_list else key, node.second: value}
    return {node.variable: value if is_list else key}
