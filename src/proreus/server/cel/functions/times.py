"""Parts of times and durations: ``getFullYear``, ``getHours`` and their like."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from datetime import UTC, datetime, timedelta, timezone, tzinfo
from typing import Any
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from proreus.server.cel.values import EvaluationError

_OFFSET = re.compile(r"([+-]?)(\d\d):(\d\d)")


def _zone(name: str) -> tzinfo:
    if found := _OFFSET.fullmatch(name):
        offset = timedelta(hours=int(found[2]), minutes=int(found[3]))
        return timezone(-offset if found[1] == "-" else offset)
    try:
        return UTC if name == "UTC" else ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError) as error:
        raise EvaluationError(f"unknown time zone {name}") from error


def _part(read: Callable[[datetime], int]) -> Callable[..., int]:
    def run(value: Any, zone: str = "UTC") -> int:
        if not isinstance(value, datetime):
            raise TypeError("no time")
        return read(value.astimezone(_zone(zone)))

    return run


def _either(read: Callable[[datetime], int], unit_s: float) -> Callable[..., int]:
    """Of a time within its day; of a duration in all."""
    of_time = _part(read)

    def run(value: Any, zone: str = "UTC") -> int:
        if isinstance(value, timedelta):
            return int(value.total_seconds() / unit_s)
        return of_time(value, zone)

    return run


def _milliseconds(value: Any, zone: str = "UTC") -> int:
    if isinstance(value, timedelta):
        return int(value.total_seconds() * 1000)
    return _part(lambda time: time.microsecond // 1000)(value, zone)


TABLE: Mapping[str, Callable[..., Any]] = {
    "getFullYear": _part(lambda time: time.year),
    "getMonth": _part(lambda time: time.month - 1),
    "getDate": _part(lambda time: time.day),
    "getDayOfMonth": _part(lambda time: time.day - 1),
    "getDayOfWeek": _part(lambda time: time.isoweekday() % 7),
    "getDayOfYear": _part(lambda time: time.timetuple().tm_yday - 1),
    "getHours": _either(lambda time: time.hour, 3600),
    "getMinutes": _either(lambda time: time.minute, 60),
    "getSeconds": _either(lambda time: time.second, 1),
    "getMilliseconds": _milliseconds,
}
