"""Times on the wire: ``2026-11-16T10:20:30Z`` and, with six digits, micro times.

A server answers in UTC and to the second (micro times: to the microsecond), whatever zone and
precision it was given. Errors are worded like Go's parser, which names the first part of the
layout that does not fit.
"""

from __future__ import annotations

import contextlib
import re
from datetime import UTC, datetime, timedelta
from functools import lru_cache

_LAYOUT = "2006-01-02T15:04:05Z07:00"
_MICRO_LAYOUT = "2006-01-02T15:04:05.000000Z07:00"
# The parts of the layout in order: what Go calls it, how it looks.
_PARTS = (
    ("2006", r"[0-9]{4}"),
    ("-", r"-"),
    ("01", r"[0-9]{2}"),
    ("-", r"-"),
    ("02", r"[0-9]{2}"),
    ("T", r"T"),
    ("15", r"[0-9]{1,2}"),
    (":", r":"),
    ("04", r"[0-9]{2}"),
    (":", r":"),
    ("05", r"[0-9]{2}"),
)
_FRACTION = ("", r"(?:[.,][0-9]+)?")
_MICRO = (".000000", r"\.[0-9]{6}")
_ZONE = ("Z07:00", r"Z|[+-][0-9]{2}:[0-9]{2}")
# As servers write it, which is nearly every time there is.
# The hour is below 24, which ``fromisoformat`` takes for the next day's first from Python 3.14 on.
_WRITTEN = re.compile(
    r"[0-9]{4}-[0-9]{2}-[0-9]{2}T(?:[01][0-9]|2[0-3]):[0-9]{2}:[0-9]{2}(\.[0-9]{6})?Z"
)
_RANGES = {
    "01": ("month", 1, 12),
    "15": ("hour", 0, 23),
    "04": ("minute", 0, 59),
    "05": ("second", 0, 59),
}
_DAYS = (31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31)


class TimeError(ValueError):
    """The text is no time; ``str(error)`` is the sentence a server answers with."""


def format_time(unix_s: float) -> str:
    return _format_second(int(unix_s))


@lru_cache(maxsize=8)
def _format_second(second: int) -> str:
    """Remembered, because everything a server writes within a second has the same time."""
    return datetime.fromtimestamp(second, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def format_micro_time(unix_s: float) -> str:
    second, micro = divmod(round(unix_s * 1e6), 1_000_000)
    return f"{_format_second(second)[:-1]}.{micro:06d}Z"


def parse_time(text: str) -> float:
    """Seconds since the epoch."""
    return _parse(text, micro=False).timestamp()


@lru_cache(4096)
def canonical_time(text: str) -> str:
    """The same time as a server writes it."""
    written = _parse(text, micro=False).strftime("%Y-%m-%dT%H:%M:%SZ").zfill(20)
    return _with_year_zero(text, written)


@lru_cache(4096)
def canonical_micro_time(text: str) -> str:
    written = _parse(text, micro=True).strftime("%Y-%m-%dT%H:%M:%S.%fZ").zfill(27)
    return _with_year_zero(text, written)


def _with_year_zero(text: str, written: str) -> str:
    return f"0000{written[4:]}" if text.startswith("0000") else written


def _parse(text: str, *, micro: bool) -> datetime:
    written = _WRITTEN.fullmatch(text)
    if written is not None and (written[1] is not None or not micro):
        with contextlib.suppress(ValueError):  # out of range: a part of it is named below
            return datetime.fromisoformat(text[:-1]).replace(tzinfo=UTC)
    return _parse_parts(text, micro=micro)


def _parse_parts(text: str, *, micro: bool) -> datetime:
    """A number is checked when it is read, the day last: it depends on the month."""
    layout = _MICRO_LAYOUT if micro else _LAYOUT
    fields: list[str] = []
    rest = text
    for name, pattern in (*_PARTS, _MICRO if micro else _FRACTION, _ZONE):
        found = re.match(pattern, rest, re.ASCII)
        if found is None:
            raise TimeError(
                f"parsing time {_quoted(text)} as {_quoted(layout)}: "
                f"cannot parse {_quoted(rest)} as {_quoted(name)}"
            )
        number, low, high = _RANGES.get(name, ("", 0, 0))
        if number and not low <= int(found[0]) <= high:
            raise TimeError(f"parsing time {_quoted(text)}: {number} out of range")
        fields.append(found[0])
        rest = rest[found.end() :]
    offset = _offset(text, fields[12])
    if rest:
        raise TimeError(f"parsing time {_quoted(text)}: extra text: {_quoted(rest)}")
    if not 1 <= int(fields[4]) <= _days(int(fields[0]), int(fields[2])):
        raise TimeError(f"parsing time {_quoted(text)}: day out of range")
    return _timestamp(fields, offset)


def _quoted(text: str) -> str:
    """As Go's package of times quotes it: bytes that are no printable ASCII in hexadecimal."""
    if text.isascii() and text.isprintable() and not {'"', "\\"} & {*text}:
        return f'"{text}"'
    written = "".join(
        f"\\{chr(byte)}" if byte in b'"\\' else chr(byte) if 32 <= byte < 128 else f"\\x{byte:02x}"
        for byte in text.encode(errors="surrogatepass")
    )
    return f'"{written}"'


def _days(year: int, month: int) -> int:
    if month == 2 and (year % 4 or (year % 100 == 0 and year % 400)):
        return 28
    return _DAYS[month - 1]


def _timestamp(fields: list[str], offset: timedelta) -> datetime:
    year, month, day, hour, minute, second = (int(field) for field in fields[:11:2])
    micros = int((fields[11][1:] + "000000")[:6])
    # There is no year 0 here; the year 4 has as many days.
    local = datetime(year or 4, month, day, hour, minute, second, micros, UTC)
    try:
        return local - offset
    except OverflowError:  # beyond the years that can be written
        return local


def _offset(text: str, zone: str) -> timedelta:
    """Offsets of 24 hours and of 60 minutes are taken, as Go takes them."""
    if zone == "Z":
        return timedelta()
    hours, minutes = int(zone[1:3]), int(zone[4:6])
    for number, name, most in ((hours, "hour", 24), (minutes, "minute", 60)):
        if number > most:
            raise TimeError(f"parsing time {_quoted(text)}: time zone offset {name} out of range")
    offset = timedelta(hours=hours, minutes=minutes)
    return -offset if zone[0] == "-" else offset
