"""Numbers as Kubernetes copies them into fields of another width: their low bits.

The results of strategic merges and of apply are never text: Go converts their whole numbers, fit or
unfit. Looked for only where something does not fit.
"""

from __future__ import annotations

from typing import Any

from proreus.api.typed import Shape, TypeNode

_INT64 = range(-(2**63), 2**63)
_BEYOND = -(2**63)  # what a processor makes of a float that is too large


def with_copied_numbers(node: TypeNode, value: Any) -> Any:
    """``value`` with the numbers that its fields would hold."""
    match node.shape, value:
        case ((Shape.OBJECT | Shape.MAP), dict()):
            return {key: _copied(node.field_of(key), item) for key, item in value.items()}
        case Shape.LIST, list():
            below = node.element() if node.element is not None else None
            return [_copied(below, item) for item in value]
        case Shape.INTEGER, (int() | float()) if not isinstance(value, bool):
            return _number(value, 64 if node.format == "int64" else 32)
        case _:
            return value


def _copied(node: TypeNode | None, value: Any) -> Any:
    return value if node is None else with_copied_numbers(node, value)


def _number(value: int | float, bits: int) -> int | float:
    if isinstance(value, float) and not value.is_integer():
        return value
    whole = int(value)
    whole = whole if whole in _INT64 else _BEYOND
    half = 1 << bits - 1
    return (whole + half) % (2 * half) - half
