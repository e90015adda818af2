"""JSON values as CEL sees them: typed by their schema, with names that CEL can spell."""

from __future__ import annotations

import datetime
import re
from typing import Any

from proreus.api.values.duration import parse_duration
from proreus.api.values.timestamp import parse_time
from proreus.server.custom.structural import Structural

_RESERVED = frozenset(
    {
        "true", "false", "null", "in", "as", "break", "const", "continue", "else", "for",
        "function", "if", "import", "let", "loop", "package", "namespace", "return", "var",
        "void", "while",
    }
)  # fmt: skip
_ODD = re.compile(r"__|[.\-/]")
_ESCAPES = {"__": "__underscores__", ".": "__dot__", "-": "__dash__", "/": "__slash__"}


def cel_value(value: Any, schema: Structural | None, *, is_root: bool = False) -> Any:
    if schema is None:
        return value
    match value:
        case dict() if isinstance(schema.values, Structural):
            return {key: cel_value(item, schema.values) for key, item in value.items()}
        case dict():
            return _object(value, schema, is_root=is_root)
        case list():
            return [cel_value(item, schema.items) for item in value]
        case int() if schema.type == "number" and not isinstance(value, bool):
            return float(value)
        case str():
            return _text(value, schema.raw.get("format") or "")
        case _:
            return value


def escaped(name: str) -> str:
    if name in _RESERVED:
        return f"__{name}__"
    return _ODD.sub(lambda found: _ESCAPES[found[0]], name)


def _object(value: dict[str, Any], schema: Structural, *, is_root: bool) -> dict[str, Any]:
    shown = {
        escaped(key): cel_value(item, schema.properties.get(key)) for key, item in value.items()
    }
    if is_root or schema.is_embedded:
        meta = value.get("metadata") or {}
        shown["metadata"] = {k: meta[k] for k in ("name", "generateName") if k in meta}
    return shown


def _text(value: str, form: str) -> Any:
    try:
        if form == "date-time":
            return datetime.datetime.fromtimestamp(parse_time(value), datetime.UTC)
        if form == "duration":
            return datetime.timedelta(seconds=parse_duration(value))
    except ValueError:
        return value
    return value
