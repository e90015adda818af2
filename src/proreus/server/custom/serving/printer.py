"""Printer columns of a custom kind: its name, then the columns of its definition.

Columns without a description of their own are described as the schema describes their field.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from proreus.api import go_text
from proreus.api.group_version import GroupVersionKind
from proreus.api.jsonpath import JsonPath, PathError
from proreus.api.table import UNKNOWN, Column, human_duration
from proreus.api.values.timestamp import parse_time
from proreus.api.wire import json
from proreus.server.resource import Printer

_ESCAPED = {ord(char): f"\\u{ord(char):04x}" for char in "<>&\u2028\u2029"}
_INT64_MIN = -(2**63)
_AGE = {"type": "date", "jsonPath": ".metadata.creationTimestamp"}
_MISSING: Any = object()
Cell = Callable[[Mapping[str, Any], float], Any]


def column_printer(
    columns: Sequence[Mapping[str, Any]], gvk: GroupVersionKind | None = None
) -> Printer:
    """One version's columns. If one path cannot be read, only the name is printed."""
    typed = _typed(columns, gvk)
    try:
        fill = tuple(_cell(column) for column in columns or (_AGE,))
    except PathError:
        fill, columns = (), ()
        printed: tuple[Column, ...] = ()
    else:
        printed = tuple(map(_column, columns)) or (Column("Age", type="date"),)

    def cells(obj: Mapping[str, Any], now: float) -> list[Any]:
        name = (obj.get("metadata") or {}).get("name", "")
        if typed:
            obj = {**typed, **obj}
        return [name, *(one(obj, now) for one in fill)]

    return Printer((Column("Name", format="name"), *printed), cells)


def _typed(columns: Sequence[Mapping[str, Any]], gvk: GroupVersionKind | None) -> Mapping[str, str]:
    """The type that columns may ask for: what is printed is stored without it."""
    paths = [column.get("jsonPath") or "" for column in columns]
    if gvk is None or not any(word in path for path in paths for word in ("kind", "apiVersion")):
        return {}
    return {"apiVersion": str(gvk.group_version), "kind": gvk.kind}


def _column(given: Mapping[str, Any]) -> Column:
    path = given.get("jsonPath", "")
    return Column(
        name=given["name"],
        type=given["type"],
        format=given.get("format") or "",
        priority=given.get("priority") or 0,
        description=given.get("description")
        or f"Custom resource definition column (in JSONPath format): {path}",
    )


def _cell(given: Mapping[str, Any]) -> Cell:
    path = JsonPath(given.get("jsonPath", ""))
    write = _FORMATTERS.get(given.get("type", ""), _text)

    def fill(obj: Mapping[str, Any], now: float) -> Any:
        value = path.first(obj, _MISSING)
        return None if value is _MISSING else write(value, now)

    return fill


def _text(value: Any, _: float) -> Any:
    match value:
        case str():
            return value
        case None:
            return "<no value>"
        case bool():
            return "true" if value else "false"
        case dict() | list():
            return _go_json(value)
        case _:
            return go_text.number(value) if isinstance(value, float) else str(value)


def _go_json(value: Any) -> str:
    """Keys in order, and what HTML gives a meaning escaped, as Go's library writes it."""
    return json.canonical(value).decode().translate(_ESCAPED)


def _integer(value: Any, _: float) -> Any:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    whole = int(value)
    return whole if _INT64_MIN <= whole < -_INT64_MIN else _INT64_MIN  # as processors convert


def _number(value: Any, _: float) -> Any:
    return value if isinstance(value, int | float) and not isinstance(value, bool) else None


def _boolean(value: Any, _: float) -> Any:
    return value if isinstance(value, bool) else None


def _date(value: Any, now: float) -> Any:
    if not isinstance(value, str):
        return None
    if value in ("", "null"):
        return UNKNOWN
    try:
        return human_duration(now - parse_time(value))
    except ValueError:
        return "<invalid>"


_FORMATTERS: dict[str, Callable[[Any, float], Any]] = {
    "integer": _integer,
    "number": _number,
    "boolean": _boolean,
    "date": _date,
    "string": _text,
}
