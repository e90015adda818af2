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
_PART = re.compile(r"([0-9]*)\.?([0-9]*)([^0-9.]*)")
_MAX_S = 2**63 / 1e9  # Go counts nanoseconds


def parse_duration(text: str) -> float:
    """Seconds. Raises ValueError worded like Go's parser."""
    rest = text[1:] if text[:1] in ("+", "-") else text
    if rest == "0":
        return 0.0
    if not rest:
        raise ValueError(f"time: invalid duration {_quoted(text)}")
    total, position = 0.0, 0
    while position < len(rest):
        part = _PART.match(rest, position)
        assert part, "every part may be empty"
        whole, fraction, unit = part.groups()
        if not whole and not fraction:
            raise ValueError(f"time: invalid duration {_quoted(text)}")
        if not unit:
            raise ValueError(f"time: missing unit in duration {_quoted(text)}")
        if unit not in _UNITS:
            raise ValueError(f"time: unknown unit {_quoted(unit)} in duration {_quoted(text)}")
        total += float(f"{whole or 0}.{fraction or 0}") * _UNITS[unit]
        position = part.end()
    if total >= _MAX_S:
        raise ValueError(f"time: invalid duration {_quoted(text)}")
    return -total if text.startswith("-") else total


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


def _quoted(text: str) -> str:
    """As Go's time package quotes: byte by byte, whatever is no plain ASCII in hexadecimal."""
    plain = text.replace("\\", "\\\\").replace('"', '\\"').encode()
    rendered = (chr(byte) if 0x20 <= byte < 0x80 else f"\\x{byte:02x}" for byte in plain)
    return f'"{"".join(rendered)}"'
