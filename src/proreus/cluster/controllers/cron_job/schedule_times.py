"""The times at which a schedule fires in a time zone. Pure.

An hour that the clock repeats in autumn has its times twice, one that it skips in spring has
none. Within a stretch of constant offset a schedule is plain arithmetic; the stretches are found
where the offset changes.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, tzinfo
from itertools import islice
from math import ceil
from zoneinfo import ZoneInfo

from proreus.api.object import KubeObject
from proreus.api.values.cron import Schedule, parse_schedule
from proreus.api.values.timestamp import parse_time
from proreus.cluster.pod_status import created_at

MISSED_MAX = 100
_DAY_S = 86400
_WINDOWS_S = (3600, _DAY_S, 32 * _DAY_S, 367 * _DAY_S)  # how far back the last time is sought


@dataclass(frozen=True, slots=True)
class Due:
    """``scheduled``: the latest time that was missed, if any. ``missed``: how many were, counted up
    to one more than ``MISSED_MAX``."""

    scheduled: float | None
    missed: int
    next_s: float | None


def zone_of(cron_job: KubeObject) -> tzinfo:
    """Raises ``KeyError`` or ``ValueError`` if there is no such zone."""
    name = cron_job.spec.timeZone
    return ZoneInfo(name) if name else UTC


def due(cron_job: KubeObject, now: float) -> Due:
    zone, schedule = zone_of(cron_job), parse_schedule(cron_job.spec.schedule)
    last = (cron_job.status or {}).get("lastScheduleTime")
    since = parse_time(last) if last else created_at(cron_job)
    deadline_s = cron_job.spec.startingDeadlineSeconds
    if deadline_s is not None:
        since = max(since, now - float(deadline_s))
    missed = len(list(islice(_until(schedule, since, zone, now), MISSED_MAX + 1)))
    scheduled = _latest(schedule, since, zone, now) if missed else None
    start = now
    if schedule.every_s:
        start = since if scheduled is None else scheduled
    upcoming = next(times_after(schedule, start, zone), None)
    return Due(scheduled, missed, None if upcoming is None else upcoming - now)


def _latest(schedule: Schedule, since: float, zone: tzinfo, now: float) -> float | None:
    """The last time after ``since``, sought in the recent past first: it may be years long."""
    if schedule.every_s:
        return since + (now - since) // _step_s(schedule) * _step_s(schedule)
    starts = [now - window_s for window_s in _WINDOWS_S if now - window_s > since]
    for start in (*starts, since):
        found = list(_until(schedule, start, zone, now))
        if found:
            return found[-1]
    return None


def _until(schedule: Schedule, since: float, zone: tzinfo, now: float) -> Iterator[float]:
    for scheduled in times_after(schedule, since, zone):
        if scheduled > now:
            return
        yield scheduled


def _step_s(schedule: Schedule) -> float:
    return float(max(1, int(schedule.every_s)))


def times_after(schedule: Schedule, since: float, zone: tzinfo) -> Iterator[float]:
    """Every time after ``since``, in order."""
    at, seen, offset_s = since, since, _offset_s(zone, since)
    while True:
        if schedule.every_s:
            at += _step_s(schedule)
            yield at
            continue
        wall = schedule.next_after(datetime.fromtimestamp(at + offset_s, UTC))
        if wall is None:
            return
        found = wall.timestamp() - offset_s
        change = _change(zone, seen, found, offset_s)
        if change is None:
            yield found
            at = seen = found
        else:
            # Go on from the change with the new offset; its own minute may be the next time.
            at, seen, offset_s = change - 1, change, _offset_s(zone, change)


def _offset_s(zone: tzinfo, scheduled: float) -> float:
    offset = datetime.fromtimestamp(scheduled, zone).utcoffset()
    return offset.total_seconds() if offset is not None else 0.0


def _change(zone: tzinfo, start: float, end: float, offset_s: float) -> float | None:
    """The first second in (start, end] at which the zone has another offset."""
    if zone is UTC:
        return None
    low, last = int(start), ceil(end)
    while low < last:
        high = min(low + _DAY_S, last)
        if _offset_s(zone, high) != offset_s:
            while high - low > 1:
                middle = (low + high) // 2
                same = _offset_s(zone, middle) == offset_s
                low, high = (middle, high) if same else (low, middle)
            return float(high)
        low = high
    return None
