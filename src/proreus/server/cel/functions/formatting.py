"""``'%s has %d'.format([name, count])``: the edition of CEL's string extension that Kubernetes has.

Values inside of lists and maps are written as CEL writes them: texts in quotes, doubles with six
digits. Doubles are written for readers of English, with commas between thousands.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator, Mapping
from datetime import datetime, timedelta
from decimal import ROUND_HALF_EVEN, Context, Decimal
from typing import Any

from proreus.api.go_text import quoted
from proreus.lazy_dataclass import dataclass
from proreus.server.cel.functions.operators import to_string, type_name
from proreus.server.cel.syntax import Uint
from proreus.server.cel.values import EvaluationError, TypeValue

_CLAUSE = re.compile(r"%(?:\.(\d+))?(.)?|[^%]+", re.DOTALL)
_PRECISION_MAX = 1000
_DIGITS_MAX = 19  # of 64 bits; no number is made of more
_PRECISION = 6
_EXACT = Context(prec=2 * _PRECISION_MAX)
_SUPERSCRIPTS = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")
_POWER = "\u202f×\u202f10"
_NOT_FINITE = {"NaN": math.nan, "Infinity": math.inf, "-Infinity": -math.inf}
_HEX = "only integers, byte buffers, and strings can be formatted as hex"
TAKEN = {  # what each clause formats
    "s": "string clause can only be used on strings, bools, bytes, ints, doubles, maps, lists, "
    "types, durations, and timestamps",
    "d": "decimal clause can only be used on integers",
    "f": "fixed-point clause can only be used on doubles",
    "e": "scientific clause can only be used on doubles",
    "b": "only integers and bools can be formatted as binary",
    "o": "octal clause can only be used on integers",
    "x": _HEX,
    "X": _HEX,
}


class _Unformattable(Exception):
    """A value of a type that the clause does not take."""


@dataclass(frozen=True, slots=True)
class Clause:
    """``verb`` "" for text that stands for itself."""

    verb: str
    precision: int
    text: str = ""


def clauses(text: str, count: int) -> Iterator[Clause]:
    """The parts of a text, for so many values. Raises EvaluationError."""
    at = 0
    for found in _CLAUSE.finditer(text):
        verb = found[2]
        if not found[0].startswith("%") or found[0] == "%%":
            yield Clause("", 0, found[0].replace("%%", "%"))
            continue
        if at >= count:
            raise EvaluationError(f"index {at} out of range")
        if verb is None:
            raise EvaluationError("unexpected end of string")
        at += 1
        yield Clause(_known(verb), _precision(found[1]))


def _known(verb: str) -> str:
    if verb not in TAKEN:
        why = f'unrecognized formatting clause "{verb}"'
        raise EvaluationError(f"could not parse formatting clause: {why}")
    return verb


def _precision(digits: str | None) -> int:
    if digits and (len(digits) > _DIGITS_MAX or int(digits) >= 2**63):
        why = f'strconv.Atoi: parsing "{digits}": value out of range'
        raise EvaluationError(
            f"error while parsing precision: error while converting precision to integer: {why}"
        )
    precision = int(digits) if digits else _PRECISION
    if precision > _PRECISION_MAX:
        raise EvaluationError(f"precision {precision} exceeds limit of {_PRECISION_MAX}")
    return precision


def unformattable(verb: str, kind: str) -> str:
    """What is said of a value that a clause does not take. ``kind``: the name of its type."""
    return f"error during formatting: {TAKEN[verb]}, was given {kind}"


def format_text(text: str, values: list[Any]) -> str:
    if not isinstance(values, list):
        raise TypeError  # no overload takes it
    rest = iter(values)
    found: list[str] = []
    for clause in clauses(text, len(values)):
        if not clause.verb:
            found.append(clause.text)
            continue
        value = next(rest)
        try:
            found.append(_VERBS[clause.verb](value, clause.precision))
        except _Unformattable:
            raise EvaluationError(unformattable(clause.verb, type_name(value))) from None
    return "".join(found)


def _is_whole(value: Any) -> bool:
    return value.__class__ in (int, Uint)


def _plain(value: Any, _: int) -> str:
    match value:
        case None:
            return "null"
        case list() | dict():
            return _literal(value)
        case TypeValue(name=name):
            return name
        case bool() | int() | float() | str() | bytes() | datetime() | timedelta():
            return to_string(value)
        case _:
            raise _Unformattable


def _literal(value: Any) -> str:
    """As CEL writes it."""
    match value:
        case list():
            return f"[{', '.join(map(_literal, value))}]"
        case dict():
            pairs = sorted((_literal(key), _literal(one)) for key, one in value.items())
            return "{" + ", ".join(f"{key}:{one}" for key, one in pairs) + "}"
        case str():
            return quoted(value)
        case bytes():
            return f"b{quoted(to_string(value))}"
        case float():
            return f"{value:.{_PRECISION}f}" if math.isfinite(value) else f'"{to_string(value)}"'
        case datetime():
            return f'timestamp("{to_string(value)}")'
        case timedelta():
            return f'duration("{to_string(value)}")'
        case _:
            try:
                return _plain(value, 0)
            except _Unformattable:
                why = f"no formatting function for {type_name(value)}"
                raise EvaluationError(f"error during formatting: {why}") from None


def _decimal(value: Any, _: int) -> str:
    if not _is_whole(value):
        raise _Unformattable
    return str(int(value))


def _double(value: Any) -> float:
    if isinstance(value, str) and value in _NOT_FINITE:
        return _NOT_FINITE[value]
    if not isinstance(value, float):
        raise _Unformattable
    return value


def _not_finite(number: float) -> str:
    return "NaN" if math.isnan(number) else "∞" if number > 0 else "-∞"


def _fixed(value: Any, precision: int) -> str:
    number = _double(value)
    if not math.isfinite(number):
        return _not_finite(number)
    unit = Decimal(1).scaleb(-precision)
    return f"{Decimal(repr(number)).quantize(unit, ROUND_HALF_EVEN, _EXACT):,f}"


def _scientific(value: Any, precision: int) -> str:
    """Kubernetes' edition takes the precision for a width."""
    number = _double(value)
    if not math.isfinite(number):
        return _not_finite(number).rjust(precision)
    digits, _, power = f"{number:.{_PRECISION}e}".partition("e")
    return f"{digits}{_POWER}{power.lstrip('+').translate(_SUPERSCRIPTS)}".rjust(precision)


def _binary(value: Any, _: int) -> str:
    if not _is_whole(value) and value.__class__ is not bool:
        raise _Unformattable
    return f"{int(value):b}"


def _octal(value: Any, _: int) -> str:
    if not _is_whole(value):
        raise _Unformattable
    return f"{int(value):o}"


def _hex(value: Any, _: int) -> str:
    if _is_whole(value):
        return f"{int(value):x}"
    raw = value.encode() if isinstance(value, str) else value
    if not isinstance(raw, bytes):
        raise _Unformattable
    return raw.hex()


_VERBS: Mapping[str, Callable[[Any, int], str]] = {
    "s": _plain,
    "d": _decimal,
    "f": _fixed,
    "e": _scientific,
    "b": _binary,
    "o": _octal,
    "x": _hex,
    "X": lambda value, precision: _hex(value, precision).upper(),
}
