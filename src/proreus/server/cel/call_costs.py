"""Estimated cost of a call, and the size of its result. Arguments are counted elsewhere."""

from __future__ import annotations

import math
from collections.abc import Sequence

from proreus.server.cel.meter import AUTHORIZATION
from proreus.server.cel.sizes import (
    ONE,
    PER_CHARACTER,
    PER_PATTERN_CHARACTER,
    UNBOUNDED,
    UNKNOWN,
    Facts,
    Size,
    capped,
    scaled,
)
from proreus.server.cel.syntax import Call, Constant

_COMPARISONS = ("_<_", "_<=_", "_>_", "_>=_")
_TEXTS = ("string", "bytes")
_PARSED = ("ip", "cidr", "isIP", "isCIDR", "quantity", "isQuantity", "semver", "isSemver")
_COMPARED_AT_ONCE = ("net.IP", "net.CIDR", "kubernetes.Quantity", "kubernetes.Semver")
_FORMAT_PATTERN = 128  # characters that a format's pattern has at most
_ADDRESS_BYTES = 16
_MAKE_LIST = 10


def call_facts(node: Call, operands: Sequence[Facts]) -> Facts:
    first = operands[0] if operands else Facts(0)
    size = first.size
    match node.function:
        case "isSorted" | "sum" | "max" | "min" | "indexOf" | "lastIndexOf":
            return _traversed(node, first)
        case "url":
            return Facts(scaled(size.high, PER_CHARACTER), size)
        case "strings.quote":
            quoted = Size(size.low + 2, capped(size.high * 2 + 2))
            return Facts(scaled(size.high, PER_CHARACTER), quoted)
        case "ip.isCanonical":
            return Facts(scaled(size.high, 2 * PER_CHARACTER))
        case function if function in _PARSED and node.target is None:
            return Facts(scaled(size.high, PER_CHARACTER))
        case "lowerAscii" | "upperAscii" | "substring" | "trim":
            return Facts(scaled(size.high, PER_CHARACTER), size)
        case "replace":
            return _replaced(operands)
        case "reverse" | "slice" | "lists.range" | "flatten" | "distinct" | "sort":
            return _made_list(node, first)
        case "@sortByAssociatedKeys":
            return _made_list(node, operands[1])
        case "split":
            return Facts(scaled(size.high, 2 * PER_CHARACTER), Size(0, size.high))
        case "join":
            return _joined(operands)
        case "find" | "findAll" | "matches":
            return _matched(operands)
        case "contains":
            rest = operands[1].size.high
            return Facts(capped(scaled(size.high, PER_CHARACTER) * scaled(rest, PER_CHARACTER)))
        case "startsWith" | "endsWith":
            return Facts(scaled(operands[1].size.high, PER_CHARACTER))
        case "format":
            return Facts(scaled(size.high, PER_CHARACTER))
        case "check":
            return Facts(AUTHORIZATION)
        case "validate":
            cost = scaled(operands[1].size.high, PER_CHARACTER)
            return Facts(scaled(cost, _FORMAT_PATTERN * PER_PATTERN_CHARACTER))
        case "fieldSelector" | "labelSelector":
            return Facts(scaled(operands[1].size.high, PER_CHARACTER))
        case "containsIP" | "containsCIDR":
            return _contained(node, operands)
        case "@in":
            return Facts(operands[1].size.high if "in_list" in node.overloads else 1)
        case "sets.contains" | "sets.intersects" | "sets.equivalent":
            return _sets(node, operands)
        case _:
            return _operator(node, operands)


def _operator(node: Call, operands: Sequence[Facts]) -> Facts:
    match node.function:
        case "_==_" if node.arguments[0].type.name in _COMPARED_AT_ONCE:
            return Facts(1, ONE)
        case "_==_" | "_!=_":
            return Facts(scaled(min(one.size.high for one in operands), PER_CHARACTER), ONE)
        case function if function in _COMPARISONS:
            is_text = any(kind in name for name in node.overloads for kind in _TEXTS)
            smaller = min(one.size.high for one in operands)
            return Facts(scaled(smaller, PER_CHARACTER) if is_text else 1, ONE)
        case "_+_":
            left, right = operands
            size = left.size + right.size
            if any(name.startswith(("add_string", "add_bytes")) for name in node.overloads):
                return Facts(scaled(size.high, PER_CHARACTER), size)
            if "add_list" in node.overloads:
                return Facts(1, size, element=left.element or right.element)
            return Facts(1, ONE)
        case "string" | "bytes":
            kind = node.arguments[0].type.name
            if kind not in _TEXTS or kind == node.function:
                return Facts(1)  # Kubernetes does not know how long numbers get
            size = operands[0].size
            grown = Size(size.low, capped(size.high * 4)) if node.function == "bytes" else size
            return Facts(scaled(size.high, PER_CHARACTER), grown)
        case _:
            return Facts(1)


def _traversed(node: Call, first: Facts) -> Facts:
    assert node.target is not None
    if node.target.type.name == "string":
        return Facts(scaled(first.size.high, PER_CHARACTER))
    each = 1
    inner = node.target.type.parameters
    if inner and inner[0].name in _TEXTS:
        each += scaled(_element_size(first).high, PER_CHARACTER)
    return Facts(capped(first.size.high * each))


def _made_list(node: Call, first: Facts) -> Facts:
    """Of the extension for lists."""
    size, factor = first.size, 1.0
    numbers = [
        one.value if isinstance(one, Constant) and isinstance(one.value, int) else None
        for one in node.arguments
    ]
    match node.function:
        case "slice":
            start, end = numbers[0] or 0, size.high if numbers[1] is None else numbers[1]
            size = Size(end - start, end - start)
        case "lists.range":
            most = UNBOUNDED if numbers[0] is None else numbers[0]
            size = Size(most, most)
        case "flatten":
            factor = 1.0 if not numbers else float(UNBOUNDED if numbers[0] is None else numbers[0])
        case "distinct" | "sort" | "@sortByAssociatedKeys":
            size, factor = size * size, 2.0
            inner = node.target.type.parameters if node.target is not None else ()
            is_text = node.function == "distinct" and bool(inner) and inner[0].name in _TEXTS
            if is_text or any(
                f"_{kind}_sort" in name for name in node.overloads for kind in _TEXTS
            ):
                factor += PER_CHARACTER
    cost = UNBOUNDED if size.high >= UNBOUNDED else math.ceil(size.high * factor)
    return Facts(capped(cost + 1 + _MAKE_LIST), size, element=first.element)


def _element_size(facts: Facts) -> Size:
    """Kubernetes looks it up in the schema: of elements that were made it knows nothing."""
    if facts.shape is not None and facts.shape.element is not None:
        return Size(0, facts.shape.element.largest)
    return UNKNOWN


def _replaced(operands: Sequence[Facts]) -> Facts:
    whole, old, new = (one.size for one in operands[:3])
    if old.low == 0:
        most = capped((whole.high + 1) * new.high + whole.high)
    elif new.high <= old.low:
        most = whole.high
    else:
        most = capped(math.ceil(whole.high / old.low) * new.high)
    return Facts(scaled(whole.high, 2 * PER_CHARACTER), Size(0, most))


def _joined(operands: Sequence[Facts]) -> Facts:
    parts = operands[0].size
    size = parts * _element_size(operands[0])
    if len(operands) > 1:
        gaps = Size(max(parts.low - 1, 0), max(parts.high - 1, 0))
        size = size + operands[1].size * gaps
    return Facts(scaled(size.high, PER_CHARACTER), size)


def _matched(operands: Sequence[Facts]) -> Facts:
    text, pattern = operands[0].size.high, operands[1].size.high
    cost = scaled(capped(text + 1), PER_CHARACTER) * scaled(pattern, PER_PATTERN_CHARACTER)
    return Facts(capped(cost), Size(0, text))


def _contained(node: Call, operands: Sequence[Facts]) -> Facts:
    cost = scaled(2 * _ADDRESS_BYTES, PER_CHARACTER)
    if node.function == "containsCIDR":
        cost += scaled(_ADDRESS_BYTES, PER_CHARACTER) + 1
    if node.arguments[0].type.name == "string":
        cost += scaled(operands[1].size.high, PER_CHARACTER)
    return Facts(capped(cost))


def _sets(node: Call, operands: Sequence[Facts]) -> Facts:
    cost = operands[0].size.high * operands[1].size.high
    if node.function == "sets.equivalent":
        cost *= 2
    return Facts(min(cost + 1, UNBOUNDED))
