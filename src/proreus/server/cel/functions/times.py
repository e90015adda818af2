"""Parts of times and durations: ``getFullYear``, ``getHours`` and their like."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from datetime import UTC, datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from proreus.api.go_text import quoted
from proreus.server.cel.values import EvaluationError

_UTC = ("", "UTC", "Local")
_OFFSET = re.compile(r"(-?)\+?(\d+):(\d+)", re.ASCII)


def _local(value: datetime, zone: str) -> datetime:
    """The time as clocks show it. Of an offset any number of hours and minutes is one."""
    if found := _OFFSET.fullmatch(zone):
        offset = timedelta(hours=int(found[2]), minutes=int(found[3]))
        return value - offset if found[1] else value + offset
    hours, colon, _ = zone.partition(":")
    if colon:
        raise EvaluationError(f"strconv.Atoi: parsing {quoted(hours)}: invalid syntax")
    if zone in _UTC:
        return value
    try:
        return value.astimezone(ZoneInfo(zone))
    except (ZoneInfoNotFoundError, ValueError, OSError) as error:
        raise EvaluationError(f"unknown time zone {zone}") from error


def _part(read: Callable[[datetime], int]) -> Callable[..., int]:
    def run(value: Any, zone: str = "UTC") -> int:
        if not isinstance(value, datetime):
            raise TypeError("no time")
        return read(_local(value.astimezone(UTC), zone))

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
