"""CEL's own operators and conversions on values. What does not fit together is no overload."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any

from proreus.api.values.duration import parse_duration
from proreus.api.values.timestamp import format_micro_time
from proreus.server.cel.syntax import UINT_MAX, Uint
from proreus.server.cel.values import (
    NONE,
    EvaluationError,
    KeyedList,
    Optional,
    TypeValue,
    equal,
    timestamp,
    union,
)

_INT_MIN, _INT_MAX = -(2**63), 2**63 - 1
_EARLIEST, _LATEST = -62135596800, 253402300799  # seconds of the years 1 to 9999
_NUMBERS = (int, float, Uint)
_ORDERED = (str, bytes, bool, datetime, timedelta)
_PLAIN_DIGITS = 6
NO_OVERLOAD = "no such overload"
_TYPE_NAMES = {
    bool: "bool", int: "int", Uint: "uint", float: "double", str: "string", bytes: "bytes",
    list: "list", KeyedList: "list", dict: "map", type(None): "null_type",
    datetime: "google.protobuf.Timestamp", timedelta: "google.protobuf.Duration",
    Optional: "optional_type", TypeValue: "type",
}  # fmt: skip


class NoOverload(EvaluationError):
    """Of an operator or a conversion: whoever calls it knows what it is called."""


def _no_overload() -> NoOverload:
    return NoOverload(NO_OVERLOAD)


def whole(value: int) -> int:
    if _INT_MIN <= value <= _INT_MAX:
        return value
    raise EvaluationError("integer overflow")


def _unsigned(value: int) -> Uint:
    if 0 <= value <= UINT_MAX:
        return Uint(value)
    raise EvaluationError("unsigned integer overflow")


def _number(kind: type, value: Any) -> Any:
    if kind is float:
        return value
    return whole(value) if kind is int else _unsigned(value)


def _add(left: Any, right: Any) -> Any:
    mine, other = left.__class__, right.__class__
    if mine is other and mine in _NUMBERS:
        return _number(mine, left + right)
    if mine is KeyedList and isinstance(right, list):
        return union(left, right)
    if isinstance(left, list) and isinstance(right, list):
        return [*left, *right]
    if mine is other and mine in (str, bytes, timedelta):
        return left + right
    if {mine, other} == {datetime, timedelta}:
        return left + right
    raise _no_overload()


def _subtract(left: Any, right: Any) -> Any:
    mine, other = left.__class__, right.__class__
    if mine is other and mine in _NUMBERS:
        return _number(mine, int.__sub__(left, right) if mine is Uint else left - right)
    if mine in (datetime, timedelta) and other in (datetime, timedelta):
        return left - right
    raise _no_overload()


def _multiply(left: Any, right: Any) -> Any:
    if left.__class__ is right.__class__ and left.__class__ in _NUMBERS:
        return _number(left.__class__, left * right)
    raise _no_overload()


def _divide(left: Any, right: Any) -> Any:
    kind = left.__class__
    if kind is not right.__class__ or kind not in _NUMBERS:
        raise _no_overload()
    if kind is float:
        if right:
            return left / right
        return math.nan if not left else math.copysign(math.inf, left) * math.copysign(1, right)
    if not right:
        raise EvaluationError("division by zero")
    size = abs(left) // abs(right)
    return _number(kind, size if (left < 0) == (right < 0) else -size)


def _remainder(left: Any, right: Any) -> Any:
    kind = left.__class__
    if kind is not right.__class__ or kind not in (int, Uint):
        raise _no_overload()
    if not right:
        raise EvaluationError("modulus by zero")
    if left == _INT_MIN and right == -1:
        raise EvaluationError("integer overflow")
    size = abs(left) % abs(right)
    return _number(kind, -size if left < 0 else size)


def _negate(value: Any) -> Any:
    if value.__class__ is int:
        return whole(-value)
    if value.__class__ in (float, timedelta):
        return -value
    raise _no_overload()


def _not(value: Any) -> bool:
    if value is True or value is False:
        return not value
    raise _no_overload()


def comparable(left: Any, right: Any) -> None:
    mine, other = left.__class__, right.__class__
    if (mine in _NUMBERS and other in _NUMBERS) or (mine is other and mine in _ORDERED):
        return
    raise _no_overload()


def _less(left: Any, right: Any) -> bool:
    comparable(left, right)
    return bool(left < right)


def _at_most(left: Any, right: Any) -> bool:
    comparable(left, right)
    return bool(left <= right)


def member(value: Any, whole_: Any) -> bool:
    if isinstance(whole_, dict):
        return isinstance(value, str | int | bool) and value in whole_
    if isinstance(whole_, list):
        return any(equal(value, one) for one in whole_)
    raise _no_overload()


def index(value: Any, key: Any) -> Any:
    if isinstance(value, list):
        if key.__class__ not in _NUMBERS:
            raise EvaluationError(f"unsupported index type '{type_name(key)}' in list")
        if not _INT_MIN <= key <= _INT_MAX or key != int(key):
            raise EvaluationError(f"unsupported index value {to_string(key)} in list")
        key = int(key)
        if not 0 <= key < len(value):
            raise EvaluationError(f"index out of bounds: {key}")
        return value[key]
    if isinstance(value, dict):
        if key.__class__ in (list, dict, KeyedList) or key not in value:
            raise EvaluationError(f"no such key: {_key_text(key)}")
        return value[key]
    if isinstance(value, Optional):
        return NONE if not value.has_value else find(value.value, key)
    # Nothing else has keys, and cel-go says no more than that, be it null or a number.
    raise EvaluationError(f"no such key: {key}")


def _key_text(key: Any) -> str:
    return to_string(key) if isinstance(key, bool | float) else str(key)


def find(value: Any, key: Any) -> Optional:
    """What stands under a key, if anything does: ``a.?b``, ``a[?b]``."""
    if isinstance(value, Optional):
        return find(value.value, key) if value.has_value else NONE
    try:
        return Optional(True, index(value, key))
    except EvaluationError:
        if isinstance(value, list) and isinstance(key, str):
            raise
        return NONE


def size(value: Any) -> int:
    if isinstance(value, str | bytes | list | dict):
        return len(value)
    raise _no_overload()


def type_name(value: Any) -> str:
    return _TYPE_NAMES.get(value.__class__) or str(getattr(value, "cel_type", "object"))


def _to_int(value: Any) -> int:
    try:
        match value:
            case float() if not abs(value) < 2**63:
                raise EvaluationError("integer overflow")
            case datetime():
                return int(value.timestamp() // 1)
            case timedelta():
                return value // timedelta(microseconds=1) * 1000
            case str() if _is_number(value) and _INT_MIN <= int(value) <= _INT_MAX:
                return int(value)
            case int() | float():
                return whole(int(value))
    except ValueError:
        pass
    raise _not_converted(value, int)


def _is_number(text: str) -> bool:
    return text.isascii() and text.strip() == text and "_" not in text


def _to_uint(value: Any) -> Uint:
    if isinstance(value, str):
        if not value.isdecimal() or not value.isascii() or int(value) > UINT_MAX:
            raise _not_converted(value, Uint)
        return Uint(int(value))
    if value.__class__ is float:
        if not 0 <= value < 2**64:
            raise EvaluationError("unsigned integer overflow")
        return Uint(int(value))
    return _unsigned(_to_int(value) if value.__class__ is not Uint else value)


def _to_double(value: Any) -> float:
    try:
        return float(value)
    except ValueError as error:
        raise _not_converted(value, float) from error


def _to_bool(value: Any) -> bool:
    if isinstance(value, bool):
        return value
    if value in ("true", "True", "TRUE", "t", "T", "1"):
        return True
    if value in ("false", "False", "FALSE", "f", "F", "0"):
        return False
    raise _not_converted(value, bool)


def to_string(value: Any) -> str:
    match value:
        case bool():
            return "true" if value else "false"
        case str():
            return value
        case float():
            return _double_text(value)
        case bytes():
            try:
                return value.decode()
            except UnicodeDecodeError as error:
                raise EvaluationError("invalid UTF-8 in bytes, cannot convert to string") from error
        case datetime():
            text = format_micro_time(value.timestamp()).rstrip("Z").rstrip("0").rstrip(".")
            return f"{text}Z"
        case timedelta():
            return f"{Decimal(repr(value.total_seconds())):f}".removesuffix(".0") + "s"
        case None | list() | dict():
            raise _no_overload()
        case _:
            return str(value)


def _double_text(value: float) -> str:
    """The shortest text, with an exponent for what is small or has more than six digits before the
    point, as Go writes it."""
    if not math.isfinite(value):
        return "NaN" if math.isnan(value) else "+Inf" if value > 0 else "-Inf"
    number = Decimal(repr(value))
    if number and not -5 < number.adjusted() < _PLAIN_DIGITS:
        digits = "".join(map(str, number.as_tuple().digits)).rstrip("0")
        fraction = f".{digits[1:]}" if len(digits) > 1 else ""
        sign = "-" if value < 0 else ""
        return f"{sign}{digits[0]}{fraction}e{number.adjusted():+03d}"
    return f"{number:f}".removesuffix(".0")


def _to_bytes(value: Any) -> bytes:
    return value if isinstance(value, bytes) else str.encode(value)


def _to_timestamp(value: Any) -> datetime:
    try:
        match value:
            case datetime():
                return value
            case str():
                return timestamp(value)
            case int() if not _EARLIEST <= value <= _LATEST:
                raise EvaluationError("timestamp overflow")
            case int():
                return datetime.fromtimestamp(value, UTC)
    except (ValueError, OverflowError) as error:
        raise _not_converted(value, datetime) from error
    raise _no_overload()


def _to_duration(value: Any) -> timedelta:
    if isinstance(value, timedelta):
        return value
    try:
        return timedelta(seconds=parse_duration(value))
    except (ValueError, OverflowError) as error:
        raise _not_converted(value, timedelta) from error


def _not_converted(value: Any, wanted: type) -> EvaluationError:
    names = type_name(value), _TYPE_NAMES[wanted]
    return EvaluationError("type conversion error from '{}' to '{}'".format(*names))


TABLE: Mapping[str, Callable[..., Any]] = {
    "_+_": _add,
    "_-_": _subtract,
    "_*_": _multiply,
    "_/_": _divide,
    "_%_": _remainder,
    "-_": _negate,
    "!_": _not,
    "_==_": equal,
    "_!=_": lambda left, right: not equal(left, right),
    "_<_": _less,
    "_<=_": _at_most,
    "_>_": lambda left, right: _less(right, left),
    "_>=_": lambda left, right: _at_most(right, left),
    "@in": member,
    "_[_]": index,
    "_[?_]": find,
    "_?._": find,
    "size": size,
    "int": _to_int,
    "uint": _to_uint,
    "double": _to_double,
    "bool": _to_bool,
    "string": to_string,
    "bytes": _to_bytes,
    "timestamp": _to_timestamp,
    "duration": _to_duration,
    "dyn": lambda value: value,
    "type": lambda value: TypeValue(type_name(value)),
}
