"""Cron schedules: five fields or a word such as ``@hourly``, and when they fire next.

A schedule is five sets of numbers; days of month and of week are alternatives unless one of them
is a star, as in every cron. Errors are worded as Kubernetes reports them.
"""

from __future__ import annotations

from datetime import datetime, timedelta
from functools import lru_cache

from proreus.api.values.duration import parse_duration
from proreus.lazy_dataclass import dataclass

_WORDS = {
    "@yearly": "0 0 1 1 *",
    "@annually": "0 0 1 1 *",
    "@monthly": "0 0 1 * *",
    "@weekly": "0 0 * * 0",
    "@daily": "0 0 * * *",
    "@midnight": "0 0 * * *",
    "@hourly": "0 * * * *",
}
_MONTHS = {"jan": 1, "feb": 2, "mar": 3, "apr": 4, "may": 5, "jun": 6, "jul": 7, "aug": 8,
           "sep": 9, "oct": 10, "nov": 11, "dec": 12}  # fmt: skip
_DAYS = {"sun": 0, "mon": 1, "tue": 2, "wed": 3, "thu": 4, "fri": 5, "sat": 6}
_NO_NAMES: dict[str, int] = {}
_BOUNDS = ((0, 59, _NO_NAMES), (0, 23, _NO_NAMES), (1, 31, _NO_NAMES), (1, 12, _MONTHS),
           (0, 6, _DAYS))  # fmt: skip
_DIGITS_MAX = 18
_SEARCH_YEARS = 5  # 29 February on a given weekday may be years away; never is reported as None


class CronError(ValueError):
    """The text is no schedule; ``str(error)`` says why."""


@dataclass(frozen=True, slots=True)
class Schedule:
    minutes: frozenset[int]
    hours: frozenset[int]
    days: frozenset[int]
    months: frozenset[int]
    weekdays: frozenset[int]
    any_day: bool  # the day of month was a star
    any_weekday: bool
    every_s: float = 0  # "@every 5m": an interval instead of a calendar

    def next_after(self, time: datetime) -> datetime | None:
        """The first matching minute after ``time``, in its zone; None if there is none."""
        if self.every_s:
            return (time + timedelta(seconds=max(1, int(self.every_s)))).replace(microsecond=0)
        found = time.replace(second=0, microsecond=0) + timedelta(minutes=1)
        last = time.year + _SEARCH_YEARS
        while found.year <= last:
            if found.month not in self.months:
                found = (found.replace(day=1, hour=0, minute=0) + timedelta(days=32)).replace(day=1)
            elif not self._is_day(found):
                found = found.replace(hour=0, minute=0) + timedelta(days=1)
            elif found.hour not in self.hours:
                found = found.replace(minute=0) + timedelta(hours=1)
            elif found.minute not in self.minutes:
                found += timedelta(minutes=1)
            else:
                return found
        return None

    def _is_day(self, time: datetime) -> bool:
        in_month = time.day in self.days
        in_week = time.isoweekday() % 7 in self.weekdays
        if self.any_day or self.any_weekday:
            return in_month and in_week
        return in_month or in_week


@lru_cache(1024)
def parse_schedule(text: str) -> Schedule:
    if not text:
        raise CronError("empty spec string")
    if text.startswith(("TZ=", "CRON_TZ=")):
        text = text.partition(" ")[2].strip()
    if text.startswith("@"):
        return _descriptor(text)
    fields = text.split()
    if len(fields) != len(_BOUNDS):
        rendered = "[" + " ".join(fields) + "]"
        raise CronError(f"expected exactly 5 fields, found {len(fields)}: {rendered}")
    minutes, hours, days, months, weekdays = (
        _field(field, *bounds) for field, bounds in zip(fields, _BOUNDS, strict=True)
    )
    any_day, any_weekday = _is_star(fields[2]), _is_star(fields[4])
    return Schedule(minutes, hours, days, months, weekdays, any_day, any_weekday)


def _descriptor(text: str) -> Schedule:
    if text.startswith("@every "):
        try:
            every_s = parse_duration(text.removeprefix("@every "))
        except ValueError as problem:
            raise CronError(f"failed to parse duration {text}: {problem}") from problem
        none: frozenset[int] = frozenset()
        return Schedule(none, none, none, none, none, True, True, every_s)
    if text not in _WORDS:
        raise CronError(f"unrecognized descriptor: {text}")
    return parse_schedule(_WORDS[text])


def _is_star(field: str) -> bool:
    return any(part.partition("/")[0] in ("*", "?") for part in field.split(","))


def _field(field: str, low: int, high: int, words: dict[str, int]) -> frozenset[int]:
    found: set[int] = set()
    for part in field.split(","):
        if part:
            found.update(_range(part, low, high, words))
    return frozenset(found)


def _range(part: str, low: int, high: int, words: dict[str, int]) -> range:
    span, *steps = part.split("/")
    ends = span.split("-")
    if len(ends) > 2:
        raise CronError(f"too many hyphens: {part}")
    if len(steps) > 1:
        raise CronError(f"too many slashes: {part}")
    if ends[0] in ("*", "?"):
        start, end = low, high
    else:
        start = _number(ends[0], words)
        end = _number(ends[1], words) if len(ends) == 2 else (high if steps else start)
    step = _number(steps[0], _NO_NAMES) if steps else 1
    if start < low:
        raise CronError(f"beginning of range ({start}) below minimum ({low}): {part}")
    if end > high:
        raise CronError(f"end of range ({end}) above maximum ({high}): {part}")
    if start > end:
        raise CronError(f"beginning of range ({start}) beyond end of range ({end}): {part}")
    if step == 0:
        raise CronError(f"step of range should be a positive number: {part}")
    return range(start, end + 1, step)


def _number(text: str, words: dict[str, int]) -> int:
    if (named := words.get(text.lower())) is not None:
        return named
    digits = text.lstrip("+-")
    if not text.isascii() or not digits.isdecimal() or len(text) - len(digits) > 1:
        raise CronError(
            f'failed to parse int from {text}: strconv.Atoi: parsing "{text}": invalid syntax'
        )
    if len(digits) > _DIGITS_MAX:
        raise CronError(
            f'failed to parse int from {text}: strconv.Atoi: parsing "{text}": value out of range'
        )
    if int(text) < 0:
        raise CronError(f"negative number ({int(text)}) not allowed: {text}")
    return int(text)
