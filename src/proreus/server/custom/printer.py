"""How objects of a custom kind are printed: name, then the columns its definition asks for.

Has the shape tables need (``columns``, ``definitions``, ``cells``, ``conditions``).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from decimal import Decimal
from typing import Any

from proreus.api.table import UNKNOWN, Column, human_duration
from proreus.api.values.timestamp import parse_time
from proreus.api.wire import json
from proreus.server.custom.jsonpath import JsonPath, PathError
from proreus.server.schema.definitions import OBJECT_META, Definitions

_EXPONENT_FROM = 6
_AGE = {"name": "Age", "type": "date", "jsonPath": ".metadata.creationTimestamp"}
_MISSING: Any = object()
Cell = Callable[[Mapping[str, Any], float], Any]


class ColumnPrinter:
    """One version's columns. If one path cannot be read, only the name is shown."""

    null_when_empty = False
    order = None  # as listed

    def __init__(self, columns: Sequence[Mapping[str, Any]]) -> None:
        given = columns or (_AGE,)
        try:
            self._fill: tuple[Cell, ...] = tuple(_cell(column) for column in given)
        except PathError:
            self._fill, given = (), ()
        self.columns = (Column("Name", format="name"), *(_column(one) for one in given))
        self._is_default = not columns

    def definitions(self) -> list[dict[str, Any]]:
        """As the wire has them; those of metadata are described as the schema does."""
        found = [column.definition() for column in self.columns]
        fields = Definitions.load().raw(OBJECT_META)["properties"]
        found[0]["description"] = fields["name"]["description"]
        if self._is_default and len(found) > 1:
            found[1]["description"] = fields["creationTimestamp"]["description"]
        return found

    def cells(self, obj: Mapping[str, Any], now: float) -> list[Any]:
        name = (obj.get("metadata") or {}).get("name", "")
        return [name, *(fill(obj, now) for fill in self._fill)]

    def conditions(self, _: Mapping[str, Any]) -> Sequence[Mapping[str, str]]:
        return ()

    def __repr__(self) -> str:
        return f"<ColumnPrinter {', '.join(column.name for column in self.columns)}>"


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
    show = _SHOW.get(given.get("type", ""), _text)

    def fill(obj: Mapping[str, Any], now: float) -> Any:
        value = path.first(obj, _MISSING)
        return None if value is _MISSING else show(value, now)

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
            return json.encode(value).decode()
        case _:
            return _go_float(value) if isinstance(value, float) else str(value)


def _go_float(value: float) -> str:
    """As few digits as tell it apart; with an exponent from a million on."""
    sign, digits, exponent = Decimal(repr(value)).normalize().as_tuple()
    assert isinstance(exponent, int), "JSON has no infinities"
    power = len(digits) + exponent - 1
    if -5 < power < _EXPONENT_FROM:
        return f"{Decimal(repr(value)).normalize():f}"
    shown = "".join(map(str, digits))
    tail = f".{shown[1:]}" if len(shown) > 1 else ""
    return f"{'-' if sign else ''}{shown[0]}{tail}e{power:+03d}"


def _integer(value: Any, _: float) -> Any:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return int(value)


def _number(value: Any, _: float) -> Any:
    return value if isinstance(value, int | float) and not isinstance(value, bool) else None


def _boolean(value: Any, _: float) -> Any:
    return value if isinstance(value, bool) else None


def _date(value: Any, now: float) -> Any:
    if not isinstance(value, str):
        return UNKNOWN if value is None else None
    try:
        return human_duration(now - parse_time(value))
    except ValueError:
        return "<invalid>"


_SHOW: dict[str, Callable[[Any, float], Any]] = {
    "integer": _integer,
    "number": _number,
    "boolean": _boolean,
    "date": _date,
    "string": _text,
}
