"""Functions on texts: CEL's own, its string extension, and Kubernetes' ``find``."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

from proreus.server.cel.functions.operators import format_double, to_string, type_name
from proreus.server.cel.syntax import Uint
from proreus.server.cel.values import EvaluationError
from proreus.server.regular_expressions import Expression, InvalidExpression, compiled

_VERB = re.compile(r"%(?:\.(\d+))?(.)", re.DOTALL)
_TAKEN = {  # what each verb formats
    "d": "decimal clause can only be used on integers",
    "f": "fixed-point clause can only be used on doubles",
    "e": "scientific clause can only be used on doubles",
    "b": "only integers and bools can be formatted as binary",
    "o": "octal clause can only be used on integers",
    "x": "only integers, byte buffers, and strings can be formatted as hex",
    "X": "only integers, byte buffers, and strings can be formatted as hex",
}
_PRECISION_MAX = 1000
_PRECISION = 6
_QUOTED = {
    '"': '\\"', "\\": "\\\\", "\a": "\\a", "\b": "\\b", "\f": "\\f", "\n": "\\n", "\r": "\\r",
    "\t": "\\t", "\v": "\\v",
}  # fmt: skip
_UPPER = {small: small - 32 for small in range(ord("a"), ord("z") + 1)}
_LOWER = {large: large + 32 for large in range(ord("A"), ord("Z") + 1)}


def _out_of_range(at: int) -> EvaluationError:
    return EvaluationError(f"index out of range: {at}")


def _char_at(text: str, at: int) -> str:
    if not 0 <= at <= len(text):
        raise _out_of_range(at)
    return text[at : at + 1]


def _index_of(text: str, part: str, start: int = 0) -> int:
    if not 0 <= start <= len(text):
        raise _out_of_range(start)
    return text.find(part, start)


def _last_index_of(text: str, part: str, start: int | None = None) -> int:
    if start is None:
        return text.rfind(part)
    if not 0 <= start <= len(text):
        raise _out_of_range(start)
    return text.rfind(part, 0, start + len(part))


def _replace(text: str, old: str, new: str, times: int = -1) -> str:
    return text.replace(old, new, times)


def _split(text: str, separator: str, most: int = -1) -> list[str]:
    if most == 0:
        return []
    if separator:
        return text.split(separator, most - 1 if most > 0 else -1)
    parts = list(text)
    return parts if most < 0 or len(parts) <= most else [*parts[: most - 1], text[most - 1 :]]


def _substring(text: str, start: int, end: int | None = None) -> str:
    stop = len(text) if end is None else end
    if not 0 <= start <= len(text):
        raise _out_of_range(start)
    if not 0 <= stop <= len(text):
        raise _out_of_range(stop)
    if start > stop:
        raise EvaluationError(f"invalid substring range. start: {start}, end: {stop}")
    return text[start:stop]


def _expression(text: str, pattern: str) -> Expression:
    if not isinstance(text, str) or not isinstance(pattern, str):
        raise TypeError("only texts are matched")
    try:
        return compiled(pattern)
    except InvalidExpression as error:
        raise EvaluationError(str(error)) from error


def _matches(text: str, pattern: str) -> bool:
    return _expression(text, pattern).is_found(text)


def _find(text: str, pattern: str) -> str:
    return _expression(text, pattern).find(text)


def _find_all(text: str, pattern: str, most: int = -1) -> list[str]:
    try:
        return _expression(text, pattern).find_all(text, most)
    except InvalidExpression as error:
        raise EvaluationError(str(error)) from error


def _format(text: str, values: list[Any]) -> str:
    """``'%s has %d'.format([name, count])``."""
    rest = iter(values)

    def formatted(found: re.Match[str]) -> str:
        precision = int(found[1]) if found[1] else _PRECISION
        if precision > _PRECISION_MAX:
            raise EvaluationError(f"precision {precision} exceeds limit of {_PRECISION_MAX}")
        if found[2] == "%":
            return "%"
        try:
            value = next(rest)
        except StopIteration:
            raise EvaluationError(f"index {len(values)} out of range") from None
        return _verb(found[2], value, precision)

    return _VERB.sub(formatted, text)


def _verb(verb: str, value: Any, precision: int) -> str:
    number = value.__class__ in (int, Uint)
    match verb:
        case "s":
            return _plain(value)
        case "d" if number:
            return str(int(value))
        case "d" | "f" | "e" if value.__class__ is float or number:
            if verb == "d":
                return format_double(value)
            return f"{float(value):.{precision}{verb}}"
        case "b" if number or value.__class__ is bool:
            return f"{int(value):b}"
        case "o" if number:
            return f"{int(value):o}"
        case "x" | "X":
            if number:
                return f"{int(value):{verb}}"
            raw = value.encode() if isinstance(value, str) else value
            if isinstance(raw, bytes):
                return raw.hex() if verb == "x" else raw.hex().upper()
    if verb not in _TAKEN:
        why = f'unrecognized formatting clause "{verb}"'
        raise EvaluationError(f"could not parse formatting clause: {why}")
    taken = f"{_TAKEN[verb]}, was given {type_name(value)}"
    raise EvaluationError(f"error during formatting: {taken}")


def _plain(value: Any) -> str:
    match value:
        case None:
            return "null"
        case list():
            return "[" + ", ".join(_plain(one) for one in value) + "]"
        case dict():
            formatted = sorted(f"{_plain(key)}: {_plain(one)}" for key, one in value.items())
            return "{" + ", ".join(formatted) + "}"
        case _:
            return to_string(value)


def _join(parts: list[Any], separator: str = "") -> str:
    return separator.join(parts)


def _quote(text: str) -> str:
    return '"' + "".join(_QUOTED.get(one, one) for one in text) + '"'


TABLE: Mapping[str, Callable[..., Any]] = {
    "contains": lambda text, part: str.__contains__(text, part),
    "startsWith": lambda text, part: str.startswith(text, part),
    "endsWith": lambda text, part: str.endswith(text, part),
    "matches": _matches,
    "charAt": _char_at,
    "join": _join,
    "lowerAscii": lambda text: text.translate(_LOWER),
    "upperAscii": lambda text: text.translate(_UPPER),
    "replace": _replace,
    "split": _split,
    "substring": _substring,
    "trim": lambda text: text.strip(),
    "format": _format,
    "strings.quote": _quote,
    "jsonpatch.escapeKey": lambda text: text.replace("~", "~0").replace("/", "~1"),
    "find": _find,
    "findAll": _find_all,
}
INDEX_OF: Callable[..., int] = _index_of
LAST_INDEX_OF: Callable[..., int] = _last_index_of
