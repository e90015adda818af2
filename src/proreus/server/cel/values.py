"""JSON values as rules see them: typed by their shape.

Plain JSON is used as it is; only texts with a format, numbers, and lists that are sets or maps
differ. Times are Python's, so rules see microseconds.
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from typing import Any

from proreus.api.values.duration import parse_duration
from proreus.api.values.timestamp import parse_time
from proreus.lazy_dataclass import dataclass
from proreus.server.cel.shapes import ShapeKind, ValueShape
from proreus.server.cel.syntax import Uint

_NUMBERS = (int, float, Uint)


class EvaluationError(Exception):
    """A rule that failed on a value: a missing key, an overflow, an operand of a wrong type."""


class KeyedList(list[Any]):
    """A list whose order says nothing: a set, or a map by keys of its elements."""

    __slots__ = ("keys",)

    def __init__(self, items: Iterable[Any], keys: tuple[str, ...]) -> None:
        super().__init__(items)
        self.keys = keys

    def key(self, item: Any) -> Any:
        if self.keys and isinstance(item, dict):
            return tuple(repr(item.get(key)) for key in self.keys)
        return repr(item)


@dataclass(frozen=True, slots=True)
class Optional:
    has_value: bool = False
    value: Any = None


NONE = Optional()


@dataclass(frozen=True, slots=True)
class TypeValue:
    name: str


def cel_value(value: Any, shape: ValueShape | None) -> Any:
    """Raises EvaluationError for a text that is not of its format."""
    if shape is None or not shape.is_converted or value is None:
        return value
    match shape.kind:
        case ShapeKind.OBJECT if isinstance(value, dict):
            changed = {
                field.name: cel_value(value[field.name], field.shape)
                for field in shape.fields.values()
                if field.shape.is_converted and field.name in value
            }
            return {**value, **changed}
        case ShapeKind.MAP if isinstance(value, dict):
            return {key: cel_value(item, shape.element) for key, item in value.items()}
        case ShapeKind.LIST if isinstance(value, list):
            items = [cel_value(item, shape.element) for item in value]
            return KeyedList(items, shape.keys) if shape.list_type else items
        case ShapeKind.DOUBLE if value.__class__ is int:
            return float(value)
        case kind if isinstance(value, str):
            return _text(value, kind)
        case _:
            return value


def _text(value: str, kind: ShapeKind) -> Any:
    try:
        match kind:
            case ShapeKind.TIMESTAMP:
                return timestamp(value if "T" in value else f"{value}T00:00:00Z")
            case ShapeKind.DURATION:
                return timedelta(seconds=parse_duration(value))
            case ShapeKind.BYTES:
                return base64.b64decode(value)
            case _:
                return value
    except (ValueError, binascii.Error, OverflowError) as error:
        raise EvaluationError(str(error)) from error


def timestamp(text: str) -> datetime:
    return datetime.fromtimestamp(parse_time(text), UTC)


def equal(left: Any, right: Any) -> bool:
    """CEL's equality: numbers of all kinds by value, and nothing else across types."""
    mine, other = left.__class__, right.__class__
    if mine in _NUMBERS:
        return other in _NUMBERS and bool(left == right)
    if mine is KeyedList or other is KeyedList:
        return _equal_keyed(left, right)
    if mine is not other:
        return False
    if mine is list:
        return len(left) == len(right) and all(map(equal, left, right))
    if mine is dict:
        return left.keys() == right.keys() and all(equal(left[key], right[key]) for key in left)
    if mine is Optional:
        return left.has_value == right.has_value and equal(left.value, right.value)
    return bool(left == right)


def _equal_keyed(left: Any, right: Any) -> bool:
    keyed = left if isinstance(left, KeyedList) else right
    if not isinstance(left, list) or not isinstance(right, list) or len(left) != len(right):
        return False
    known = {keyed.key(item): item for item in right}
    return all((key := keyed.key(item)) in known and equal(item, known[key]) for item in left)


def union(left: KeyedList, right: list[Any]) -> KeyedList:
    """``+`` of sets and maps: what is there stays in place, the other's elements win."""
    places = {left.key(item): at for at, item in enumerate(left)}
    joined = KeyedList(left, left.keys)
    for item in right:
        at = places.get(left.key(item))
        if at is None:
            joined.append(item)
        else:
            joined[at] = item
    return joined
