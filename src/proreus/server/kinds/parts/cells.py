"""Values of table cells that many kinds use. Every argument may lack its fields."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from typing import Any

from proreus.api.json_types import Json
from proreus.api.selectors import LabelSelector, SelectorError
from proreus.api.table import UNKNOWN, human_duration
from proreus.api.values.timestamp import parse_time
from proreus.server.kinds.parts.conditions import is_true
from proreus.server.resource import Printer

NONE = "<none>"
UNSET = "<unset>"


def name_of(obj: Json) -> str:
    return str((obj.get("metadata") or {}).get("name") or "")


def age(obj: Json, now: float) -> str:
    return since((obj.get("metadata") or {}).get("creationTimestamp"), now)


def since(time: str | None, now: float) -> str:
    """How long ago; ``<unknown>`` for a time that is not set."""
    start = unix_time(time)
    return UNKNOWN if start is None else human_duration(now - start)


def unix_time(time: str | None) -> float | None:
    return _parse(time) if time else None


@lru_cache(maxsize=4096)
def _parse(time: str) -> float | None:
    # Objects made together share their second, so most rows of a table find theirs here.
    try:
        return parse_time(time)
    except ValueError:
        return None


def is_deleting(obj: Json) -> bool:
    return bool((obj.get("metadata") or {}).get("deletionTimestamp"))


def pairs(labels: Mapping[str, str] | None) -> str:
    """``a=b,c=d`` in order of key."""
    if not labels:
        return NONE
    return ",".join(f"{key}={labels[key]}" for key in sorted(labels))


def selector(spec: Mapping[str, Any] | None) -> str:
    """A label selector of a spec in its text form."""
    return _selector_text(spec) or NONE


def _selector_text(spec: Mapping[str, Any] | None) -> str:
    if not spec:
        return ""
    try:
        return str(LabelSelector.from_object(spec))
    except SelectorError:
        return "<error>"


def selector_or_empty(spec: Mapping[str, Any] | None) -> str:
    return _selector_text(spec)


def shortened(values: Iterable[str], limit: int = 3, total: int | None = None) -> str:
    """``a,b,c + 2 more...``"""
    printed = list(values)
    count = len(printed) if total is None else total
    text = ",".join(printed[:limit])
    return f"{text} + {count - limit} more..." if count > limit else text


def true_false(value: bool | None) -> str:
    return UNSET if value is None else str(bool(value))


def condition(obj: Json, kind: str) -> Mapping[str, Any] | None:
    """The status condition of a type, None if there is none."""
    found: Sequence[Mapping[str, Any]] = (obj.get("status") or {}).get("conditions") or ()
    return next((c for c in found if c.get("type") == kind), None)


def holds(obj: Json, kind: str) -> bool:
    return is_true((obj.get("status") or {}).get("conditions"), kind)


def number(value: Any) -> int:
    return int(value or 0)


NAME_AND_AGE = Printer.of(lambda obj, now: [name_of(obj), age(obj, now)], "Name", "Age")
