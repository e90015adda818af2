"""Durations as Go writes them: ``1h30m``, ``1.5s``, ``300ms``."""

from __future__ import annotations

import re

_UNITS = {
    "ns": 1e-9,
    "us": 1e-6,
    "µs": 1e-6,
    "μs": 1e-6,
    "ms": 1e-3,
    "s": 1.0,
    "m": 60.0,
    "h": 3600.0,
}
_PART = re.compile(r"([0-9]+(?:\.[0-9]*)?|\.[0-9]+)([a-zµμ]+)", re.ASCII)


def parse_duration(text: str) -> float:
    """Seconds. Raises ValueError worded like Go's parser."""
    rest = text.lstrip("+-") if text[:1] in ("+", "-") else text
    sign = -1.0 if text.startswith("-") else 1.0
    if rest == "0":
        return 0.0
    total, position = 0.0, 0
    while position < len(rest):
        part = _PART.match(rest, position)
        if part is None:
            if re.match(r"[0-9.]", rest[position:]):
                raise ValueError(f'time: missing unit in duration "{text}"')
            raise ValueError(f'time: invalid duration "{text}"')
        if part[2] not in _UNITS:
            raise ValueError(f'time: unknown unit "{part[2]}" in duration "{text}"')
        total += float(part[1]) * _UNITS[part[2]]
        position = part.end()
    if not rest:
        raise ValueError(f'time: invalid duration "{text}"')
    return sign * total


def format_duration(seconds: float) -> str:
    """The shortest Go spelling, e.g. ``1h0m0s``, ``1.5s``, ``300ms``."""
    if seconds == 0:
        return "0s"
    sign, nanos = ("-" if seconds < 0 else ""), round(abs(seconds) * 1e9)
    if nanos < 1_000_000_000:
        for unit, size in (("ms", 1_000_000), ("µs", 1000)):
            if nanos >= size:
                return f"{sign}{_trimmed(nanos / size)}{unit}"
        return f"{sign}{nanos}ns"
    minutes, rest = divmod(nanos, 60_000_000_000)
    hours, minutes = divmod(minutes, 60)
    text = f"{_trimmed(rest / 1e9)}s"
    if hours:
        return f"{sign}{hours}h{minutes}m{text}"
    return f"{sign}{minutes}m{text}" if minutes else f"{sign}{text}"


def _trimmed(value: float) -> str:
    return f"{value:.9f}".rstrip("0").rstrip(".")
