"""Ranges of sizes, and the estimated cost and size of an expression."""

from __future__ import annotations

import math

from proreus.lazy_dataclass import dataclass
from proreus.server.cel.shapes import ValueShape

UNBOUNDED = 2**64 - 1
PER_CHARACTER = 0.1
PER_PATTERN_CHARACTER = 0.25


@dataclass(frozen=True, slots=True)
class Size:
    """How long a text or list is at least and at most."""

    low: int
    high: int

    def __add__(self, other: Size) -> Size:
        return Size(capped(self.low + other.low), capped(self.high + other.high))

    def __mul__(self, other: Size) -> Size:
        return Size(capped(self.low * other.low), capped(self.high * other.high))

    def __or__(self, other: Size) -> Size:
        return Size(min(self.low, other.low), max(self.high, other.high))


UNKNOWN = Size(0, UNBOUNDED)
ONE = Size(1, 1)


@dataclass(frozen=True, slots=True)
class Facts:
    """``cost``: at most. ``shape``: where the value stands in the schema, if it does."""

    cost: int
    size: Size = UNKNOWN
    shape: ValueShape | None = None
    element: Facts | None = None  # of the elements of a list, the values of a map
    key: Facts | None = None

    def with_cost(self, cost: int) -> Facts:
        return Facts(capped(cost), self.size, self.shape, self.element, self.key)


def capped(value: int) -> int:
    return min(value, UNBOUNDED)


def scaled(size: int, factor: float) -> int:
    """What it costs to go through a text of some size."""
    return capped(math.ceil(size * factor)) if size < UNBOUNDED else UNBOUNDED
