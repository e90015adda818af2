"""Paths into objects as definitions write them: ``.spec.l[?(@.type=="Ready")].status``.

The part of kubectl's JSONPath that printer columns use. A path is parsed once into steps; ``find``
gives every match in order. What cannot be parsed raises ``PathError``. As in kubectl a value that a
step cannot be taken from (an index out of bounds, a filter on no list, a comparison of two types)
spoils the whole search, while what is missing is only passed over.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from functools import lru_cache
from typing import Any

Step = Callable[[Any], Iterable[Any]]
_FIELD = re.compile(r"\.((?:\\.|[^.\[\]\\])+)")
_QUOTED = re.compile(r"\[\s*'((?:\\.|[^'\\])*)'\s*\]")
_INDEX = re.compile(r"\[\s*(-?\d+)\s*\]")
_UNION = re.compile(r"\[((?:[^\]'\"]|'(?:\\.|[^'\\])*'|\"(?:\\.|[^\"\\])*\")+)\]")
_UNION_PART = re.compile(r"'(?:\\.|[^'\\])*'|\"(?:\\.|[^\"\\])*\"|[^,]+")
_SLICE = re.compile(r"\[\s*(-?\d*)\s*:\s*(-?\d*)\s*(?::\s*(-?\d+)\s*)?\]")
_FILTER = re.compile(
    r"\[\?\(\s*@((?:\.[^\s=!<>)]+)?)\s*(?:(==|!=|<=|>=|<|>)\s*"
    r"(?:\"((?:\\.|[^\"\\])*)\"|'((?:\\.|[^'\\])*)'|([^\s)]+))\s*)?\)\]"
)


_LENGTH_MAX = 10_000
_STEPS_MAX = 200
_VISITED_MAX = 100_000


class PathError(ValueError):
    """The text is no path."""


class _UnfitError(Exception):
    """A step cannot be taken from a value."""


class JsonPath:
    __slots__ = ("_steps", "text")

    def __init__(self, text: str) -> None:
        self.text = text
        self._steps = _parse(text)

    def find(self, value: Any) -> Iterator[Any]:
        """Every match, in the order of the document, as far as ``_VISITED_MAX`` goes."""
        try:
            return iter(list(_found(self._steps, value, _Visits())))
        except _UnfitError:
            return iter(())

    def first(self, value: Any, missing: Any = None) -> Any:
        return next(self.find(value), missing)

    def __repr__(self) -> str:
        return f"<JsonPath {self.text}>"


class _Visits:
    """How many values a search may still look at: each ``..`` multiplies them."""

    __slots__ = ("left",)

    def __init__(self) -> None:
        self.left = _VISITED_MAX


def _found(steps: tuple[Step, ...], value: Any, visits: _Visits) -> Iterator[Any]:
    found = iter((value,))
    for step in steps:
        found = _each(step, found, visits)
    return found


def _each(step: Step, values: Iterator[Any], visits: _Visits) -> Iterator[Any]:
    for value in values:
        visits.left -= 1
        if visits.left < 0:
            return
        yield from step(value)


@lru_cache(maxsize=1024)
def _parse(text: str) -> tuple[Step, ...]:
    if len(text) > _LENGTH_MAX:
        raise PathError(f"longer than {_LENGTH_MAX} characters")
    steps: list[Step] = []
    at = 0
    while at < len(text):
        if len(steps) > _STEPS_MAX:
            raise PathError(f"more than {_STEPS_MAX} steps in {text!r}")
        rest = text[at:]
        if rest == ".":
            break
        if rest.startswith(".."):
            steps.append(_descend)
            at += 1
        elif rest.startswith("[*]"):
            steps.append(_items)
            at += 3
        elif rest.startswith(".["):
            at += 1
        elif found := _FIELD.match(rest):
            name = re.sub(r"\\(.)", r"\1", found[1])
            steps.append(_all if name == "*" else _field(name))
            at += found.end()
        elif found := _QUOTED.match(rest):
            steps.append(_field(re.sub(r"\\(.)", r"\1", found[1])))
            at += found.end()
        elif found := _INDEX.match(rest):
            steps.append(_item(int(found[1])))
            at += found.end()
        elif found := _SLICE.match(rest):
            steps.append(_slice(*found.groups()))
            at += found.end()
        elif found := _FILTER.match(rest):
            literal = next((g for g in found.groups()[2:4] if g is not None), None)
            steps.append(_where(found[1], found[2], literal, found[5]))
            at += found.end()
        elif (found := _UNION.match(rest)) and "," in found[1]:
            parts = _UNION_PART.findall(found[1])
            steps.append(_union([_parse(f"[{part.strip()}]") for part in parts]))
            at += found.end()
        else:
            raise PathError(f"cannot read {rest!r} in {text!r}")
    return tuple(steps)


def _field(name: str) -> Step:
    def step(value: Any) -> Iterator[Any]:
        if isinstance(value, dict) and name in value:
            yield value[name]

    return step


def _items(value: Any) -> list[Any]:
    if value is None:
        return []
    if not isinstance(value, list):
        raise _UnfitError
    return value


def _item(index: int) -> Step:
    def step(value: Any) -> Iterator[Any]:
        if value is not None:
            items = _items(value)
            if not -len(items) <= index < len(items):
                raise _UnfitError
            yield items[index]

    return step


def _slice(start: str | None, end: str | None, step: str | None) -> Step:
    def each(value: Any) -> Iterator[Any]:
        if value is None:
            return
        items = _items(value)
        length, by = len(items), int(step or 1)
        first, last = int(start or 0), int(end) if end else length
        first, last = (at + length if at < 0 else at for at in (first, last))
        if first != last and not (0 <= first < length and first < last <= length):
            raise _UnfitError
        if by < 1:
            raise _UnfitError
        yield from items[first:last:by]

    return each


def _union(options: list[tuple[Step, ...]]) -> Step:
    def step(value: Any) -> Iterator[Any]:
        for steps in options:
            yield from _found(steps, value, _Visits())

    return step


def _all(value: Any) -> Iterator[Any]:
    """``.*``, which takes objects too."""
    if isinstance(value, list):
        yield from value
    elif isinstance(value, dict):
        yield from value.values()


def _descend(value: Any) -> Iterator[Any]:
    waiting = [value]
    while waiting:
        one = waiting.pop()
        yield one
        waiting += reversed(list(_all(one)))


_COMPARED = (bool, int, float, str)
_COMPARE: dict[str, Callable[[Any, Any], bool]] = {
    "==": lambda a, b: bool(a == b),
    "!=": lambda a, b: bool(a != b),
    "<": lambda a, b: bool(a < b),
    "<=": lambda a, b: bool(a <= b),
    ">": lambda a, b: bool(a > b),
    ">=": lambda a, b: bool(a >= b),
}


def _where(path: str, operator: str | None, text: str | None, bare: str | None) -> Step:
    inner = _parse(path)
    wanted = text if text is not None else _literal(bare or "")

    def holds(item: Any) -> bool:
        for value in _found(inner, item, _Visits()):
            if operator is None:
                return True
            if value is None:
                return False
            if type(value) is not type(wanted) or not isinstance(value, _COMPARED):
                raise _UnfitError
            if isinstance(value, bool) and operator not in ("==", "!="):
                raise _UnfitError
            return _COMPARE[operator](value, wanted)
        return False

    def step(value: Any) -> Iterator[Any]:
        yield from (item for item in _items(value) if holds(item))

    return step


def _literal(text: str) -> Any:
    if text in ("true", "false"):
        return text == "true"
    try:
        return float(text) if "." in text or "e" in text else int(text)
    except ValueError:
        return text
