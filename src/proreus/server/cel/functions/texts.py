"""Functions on texts: CEL's own, its string extension, and Kubernetes' ``find``."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from proreus.server.cel.functions.formatting import format_text
from proreus.server.cel.values import EvaluationError
from proreus.server.regular_expressions import Expression, InvalidExpression, compiled

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
    if not part:
        return start
    if start < 0:
        raise _out_of_range(start)
    return text.find(part, start)


def _last_index_of(text: str, part: str, start: int | None = None) -> int:
    if start is None:
        return text.rfind(part)
    if not part:
        return start
    if start < 0:
        raise _out_of_range(start)
    return text.rfind(part, 0, start + len(part)) if start < len(text) else -1


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
    if end is not None and start > end:
        raise EvaluationError(f"invalid substring range. start: {start}, end: {end}")
    for at in (start, end):
        if at is not None and not 0 <= at <= len(text):
            raise _out_of_range(at)
    return text[start:end]


def _expression(text: str, pattern: str) -> Expression:
    if not isinstance(text, str) or not isinstance(pattern, str):
        raise TypeError("only texts are matched")
    return compiled(pattern)


def _matches(text: str, pattern: str) -> bool:
    try:
        return _expression(text, pattern).is_found(text)
    except InvalidExpression as error:
        raise EvaluationError(str(error)) from error


def _find(text: str, pattern: str) -> str:
    try:
        return _expression(text, pattern).find(text)
    except InvalidExpression as error:
        raise EvaluationError(f"Illegal regex: {error}") from error


def _find_all(text: str, pattern: str, most: int = -1) -> list[str]:
    try:
        return _expression(text, pattern).find_all(text, most)
    except InvalidExpression as error:
        raise EvaluationError(f"Illegal regex: {error}") from error


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
    "format": format_text,
    "strings.quote": _quote,
    "jsonpatch.escapeKey": lambda text: text.replace("~", "~0").replace("/", "~1"),
    "find": _find,
    "findAll": _find_all,
}
INDEX_OF: Callable[..., int] = _index_of
LAST_INDEX_OF: Callable[..., int] = _last_index_of
