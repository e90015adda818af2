"""Values that decode themselves: times, amounts, numbers that may be texts.

Go's decoder notes a value of the wrong type and goes on, to report the first of them at the end. A
type with a decoder of its own ends it at once. So such a fault is reported although others stand
before it. Looked for only where something is wrong.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from proreus.api.typed import Shape, TypeNode
from proreus.server.schema.scalars import WALKS, FormatError, Mismatch, Seen

_OWN = frozenset({Shape.TIME, Shape.MICRO_TIME, Shape.QUANTITY, Shape.INT_OR_STRING})


def outranking_fault(node: TypeNode, value: Any) -> Mismatch | FormatError | None:
    """The first fault that ends decoding at once."""
    try:
        _look(node, value)
    except (Mismatch, FormatError) as found:
        return found
    return None


def _look(node: TypeNode, value: Any) -> None:
    if node.shape in _OWN:
        WALKS[node.shape](node)(value, Seen(0))
        return
    for key, item in _parts(node, value):
        below = node.field_of(key) if isinstance(key, str) else node.element and node.element()
        if below is None:
            continue
        try:
            _look(below, item)
        except Mismatch as found:
            found.path.append(key)
            raise


def _parts(node: TypeNode, value: Any) -> Iterable[tuple[str | int, Any]]:
    match node.shape, value:
        case ((Shape.OBJECT | Shape.MAP), dict()):
            return value.items()
        case Shape.LIST, list():
            return enumerate(value)
        case _:
            return ()
