"""How much of a schema applies to a value: which of several options was probably meant.

Kubernetes tells the violations of the option with the most checks that apply, passed or not: one
that looks into fields the object has. Of equal ones it tells the first.
"""

from __future__ import annotations

from typing import Any

from proreus.server.custom.schema import bounds
from proreus.server.custom.schema.formats import format_check
from proreus.server.custom.schema.structural import Structural, parse

_ALWAYS = 4  # the value itself, junctors (counted twice) and enumerations


def match_count(value: Any, schema: Structural) -> int:
    raw, form = schema.raw, schema.raw.get("format") or ""
    if value is None:
        return int(schema.nullable or not schema.type)
    count = _ALWAYS
    if schema.type or form:
        count += 2 if not schema.type or bounds.is_of_type(value, schema.type) else 1
    count += sum(match_count(value, parse(part)) for part in raw.get("allOf") or ())
    match value:
        case str():
            return count + 1 + (format_check(form) is not None)
        case bool():
            return count
        case int() | float():
            return count + 2
        case list():
            items = schema.items
            return count + 2 + (sum(match_count(one, items) for one in value) if items else 0)
        case dict():
            return count + 1 + _of_fields(value, schema)
        case _:
            return count


def _of_fields(value: dict[str, Any], schema: Structural) -> int:
    if bounds.map_size_violations(value, schema.raw, "", ""):
        return 0  # its fields are not looked at
    children = ((value[key], schema.child(key)) for key in value)
    return sum(match_count(field, child) for field, child in children if child is not None)
