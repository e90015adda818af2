"""Server-side printing: the values of a Table that are the same at both ends of the wire.

A Table's cells are made for people, so times appear as rough durations ("5m", "3d4h"); kubectl
prints them as they come.
"""

from __future__ import annotations

from proreus.api.json_types import JsonObject
from proreus.lazy_dataclass import dataclass

UNKNOWN = "<unknown>"
INVALID = "<invalid>"

_MINUTE = 60
_HOUR = 60 * _MINUTE
_DAY = 24 * _HOUR
_YEAR = 365 * _DAY


@dataclass(frozen=True, slots=True)
class Column:
    """One column definition. Priority 0 is always shown, 1 only in the wide form."""

    name: str
    type: str = "string"
    format: str = ""
    priority: int = 0
    description: str = ""

    def definition(self) -> JsonObject:
        """As the wire has it: every field always present."""
        return {
            "name": self.name,
            "type": self.type,
            "format": self.format,
            "description": self.description,
            "priority": self.priority,
        }


def human_duration(seconds: float) -> str:
    """A duration in at most two units, coarser as it grows; clocks may differ by one second."""
    whole = int(seconds)
    if whole < -1:
        return INVALID
    if whole < 0:
        return "0s"
    if whole < 2 * _MINUTE:
        return f"{whole}s"
    if whole < 10 * _MINUTE:
        return _two(whole, _MINUTE, "m", 1, "s")
    if whole < 3 * _HOUR:
        return f"{whole // _MINUTE}m"
    if whole < 8 * _HOUR:
        return _two(whole, _HOUR, "h", _MINUTE, "m")
    if whole < 2 * _DAY:
        return f"{whole // _HOUR}h"
    if whole < 8 * _DAY:
        return _two(whole, _DAY, "d", _HOUR, "h")
    if whole < 2 * _YEAR:
        return f"{whole // _DAY}d"
    if whole < 8 * _YEAR:
        return _two(whole, _YEAR, "y", _DAY, "d")
    return f"{whole // _YEAR}y"


def _two(seconds: int, large: int, large_name: str, small: int, small_name: str) -> str:
    """``3d4h``; a zero small part is left out."""
    first, rest = divmod(seconds, large)
    second = rest // small
    return f"{first}{large_name}{second}{small_name}" if second else f"{first}{large_name}"
