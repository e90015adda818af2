"""Actual cost of a call on its values, charged before it runs. In Kubernetes' units.

Where Kubernetes counts only the outermost elements, everything inside is counted here: lists that
hold the same list twice, and that in turn, are small to make and endless to compare or to print.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from proreus.server.cel.sizes import PER_CHARACTER, PER_PATTERN_CHARACTER, UNBOUNDED, scaled
from proreus.server.regular_expressions import InvalidExpression, compiled

Cost = Callable[..., int]
_WEIGHT_MAX = 1_000_000
_STEPS_PER_UNIT = 100
_MAKE_LIST = 10
AUTHORIZATION = 350_000  # Kubernetes allows two in an expression


def _size(value: Any) -> int:
    return len(value) if isinstance(value, str | bytes | list | dict) else 1


def _text(value: Any, *_: Any) -> int:
    return scaled(_size(value), PER_CHARACTER)


def _twice(value: Any, *_: Any) -> int:
    return scaled(_size(value), 2 * PER_CHARACTER)


def _weight(value: Any) -> int:
    """Elements and characters of a value and all that is in it. What is too large to count is
    too large to work on.
    """
    if not isinstance(value, list | dict):
        return _size(value)
    total, waiting = 0, [value]
    while waiting:
        if total > _WEIGHT_MAX:
            return UNBOUNDED
        one = waiting.pop()
        total += _size(one) + 1
        if isinstance(one, dict):
            waiting += one.values()
        elif isinstance(one, list):
            waiting += one
    return total


def _smaller(left: Any, right: Any) -> int:
    if isinstance(left, list | dict) and isinstance(right, list | dict):
        return scaled(min(_weight(left), _weight(right)), PER_CHARACTER)
    return scaled(min(_size(left), _size(right)), PER_CHARACTER)


def _traversal(value: Any, *_: Any) -> int:
    if isinstance(value, list):
        return max(len(value), scaled(_weight(value), PER_CHARACTER))
    return _text(value)


def _added(left: Any, right: Any) -> int:
    if isinstance(left, str | bytes | list):
        return scaled(_size(left) + _size(right) + 1, PER_CHARACTER)
    return 1


def _replaced(text: Any, old: Any, new: Any, *_: Any) -> int:
    """Its result too: a text in place of every character grows without bound."""
    if not all(isinstance(one, str) for one in (text, old, new)):
        return 1
    grown = text.count(old) * len(new)
    return scaled(2 * len(text) + grown, PER_CHARACTER)


def _joined(parts: Any, separator: Any = "") -> int:
    if not isinstance(parts, list):
        return 1
    return scaled(sum(_size(one) + _size(separator) for one in parts), 2 * PER_CHARACTER)


def _matched(text: Any, pattern: Any, *_: Any) -> int:
    """Kubernetes' cost, or more for patterns that are larger than they look: ``a{1000}``."""
    cost = scaled(1 + _size(text), PER_CHARACTER) * scaled(_size(pattern), PER_PATTERN_CHARACTER)
    if not isinstance(text, str) or not isinstance(pattern, str):
        return cost
    try:
        return max(cost, compiled(pattern).steps(text) // _STEPS_PER_UNIT)
    except InvalidExpression:
        return cost


def _contained(text: Any, part: Any) -> int:
    return _text(text) * _text(part)


def _member(value: Any, whole: Any) -> int:
    if not isinstance(whole, list):
        return 1
    inside = scaled(min(_weight(value) * len(whole), _weight(whole)), PER_CHARACTER)
    return max(len(whole), inside)


def _product(left: Any, right: Any) -> int:
    return scaled(_weight(left), PER_CHARACTER) * scaled(_weight(right), PER_CHARACTER) + (
        _size(left) * _size(right)
    )


def _formatted(text: Any, values: Any) -> int:
    return scaled(_size(text) + _weight(values), PER_CHARACTER)


def _made(size: float) -> int:
    """Of a call that makes a list: the call, the list and what goes into it."""
    return _MAKE_LIST + 1 + min(int(size), UNBOUNDED)


def _reversed(values: Any) -> int:
    return _made(_size(values))


def _flattened(values: Any, depth: Any = 1) -> int:
    inside = scaled(_weight(values), PER_CHARACTER)
    return _made(max(_size(values) * (depth if isinstance(depth, int) else 1), inside))


def _compared(values: Any, *_: Any) -> int:
    """Each element with each."""
    inside = scaled(_weight(values), PER_CHARACTER)
    is_text = isinstance(values, list) and bool(values) and isinstance(values[0], str | bytes)
    factor = 2 + PER_CHARACTER if is_text else 2
    return _made(max(factor * _size(values) ** 2, inside))


def _sorted_by(_: Any, keys: Any) -> int:
    return _compared(keys)


def _address(value: Any, *_: Any) -> int:
    return _text(value) if isinstance(value, str) else 1


COSTS: Mapping[str, Cost] = {
    **dict.fromkeys(("isSorted", "sum", "max", "min", "indexOf", "lastIndexOf"), _traversal),
    **dict.fromkeys(("url", "lowerAscii", "upperAscii", "substring", "trim"), _text),
    **dict.fromkeys(("startsWith", "endsWith", "isURL", "string", "bytes"), _text),
    "format": _formatted,
    **dict.fromkeys(("cidr", "isIP", "isCIDR", "ip", "isQuantity", "quantity"), _address),
    **dict.fromkeys(("semver", "isSemver", "strings.quote"), _address),
    **dict.fromkeys(("_==_", "_!=_", "_<_", "_<=_", "_>_", "_>=_"), _smaller),
    **dict.fromkeys(("sets.contains", "sets.intersects", "sets.equivalent"), _product),
    **dict.fromkeys(("matches", "find", "findAll"), _matched),
    **dict.fromkeys(("distinct", "sort"), _compared),
    "@sortByAssociatedKeys": _sorted_by,
    "reverse": _reversed,
    "flatten": _flattened,
    "slice": lambda _, start, end: _made(max(end - start, 0)),
    "lists.range": lambda size: _made(max(size, 0)),
    "ip.isCanonical": _twice,
    "split": _twice,
    "jsonpatch.escapeKey": _twice,
    "replace": _replaced,
    "join": _joined,
    "contains": _contained,
    **dict.fromkeys(("fieldSelector", "labelSelector", "validate"), lambda _, text: _text(text)),
    "check": lambda *_: AUTHORIZATION,
    "_+_": _added,
    "@in": _member,
}
