"""When CronJobs fire, what they start and what they keep."""

from __future__ import annotations

from datetime import UTC, datetime
from itertools import islice
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from proreus.api.object import KubeObject
from proreus.api.values.cron import parse_schedule
from proreus.api.values.timestamp import format_time, parse_time
from proreus.cluster.controllers.cron_job.decisions import (
    SCHEDULED,
    beyond_history,
    job_events,
    job_for,
    status_of,
)
from proreus.cluster.controllers.cron_job.schedule_times import Due, due, times_after

NOW = parse_time("2026-03-10T12:00:30Z")
BERLIN = ZoneInfo("Europe/Berlin")


def cron_job(schedule: str, last: str = "", **spec: Any) -> KubeObject:
    return KubeObject.from_dict(
        {
            "apiVersion": "batch/v1",
            "kind": "CronJob",
            "metadata": {
                "name": "tick",
                "namespace": "default",
                "uid": "me",
                "creationTimestamp": "2026-03-01T00:00:00Z",
            },
            "spec": {"schedule": schedule, "jobTemplate": {}, **spec},
            "status": {"lastScheduleTime": last} if last else {},
        }
    )


def summary(found: Due) -> tuple[str, int, float | None]:
    scheduled = "" if found.scheduled is None else format_time(found.scheduled)
    return scheduled, found.missed, found.next_s


# When


def test_the_next_moment_is_waited_for() -> None:
    wish = cron_job("*/5 * * * *", "2026-03-10T12:00:00Z")
    assert summary(due(wish, NOW)) == ("", 0, 270)


def test_of_missed_moments_the_latest_is_due() -> None:
    wish = cron_job("*/5 * * * *", "2026-03-10T11:40:00Z")
    assert summary(due(wish, NOW)) == ("2026-03-10T12:00:00Z", 4, 270)


def test_a_new_cron_job_does_not_make_up_for_the_time_before_it() -> None:
    assert due(cron_job("0 0 1 3 *"), NOW).scheduled is None
    assert due(cron_job("0 0 2 3 *"), NOW).missed == 1


def test_a_missed_moment_is_lost_after_the_deadline() -> None:
    wish = cron_job("0 * * * *", "2026-03-10T10:00:00Z", startingDeadlineSeconds=10)
    assert due(wish, NOW).scheduled is None
    patient = cron_job("0 * * * *", "2026-03-10T10:00:00Z", startingDeadlineSeconds=60)
    assert summary(due(patient, NOW)) == ("2026-03-10T12:00:00Z", 1, 3570)


@pytest.mark.parametrize(
    ("schedule", "latest"),
    [
        ("* * * * *", "2026-03-10T12:00:00Z"),
        ("30 6 * * *", "2026-03-10T06:30:00Z"),
        ("0 0 * * 0", "2026-03-08T00:00:00Z"),
        ("0 0 1 * *", "2026-03-01T00:00:00Z"),
        ("0 0 29 2 *", "2024-02-29T00:00:00Z"),
        ("@every 90s", "2026-03-10T12:00:00Z"),
    ],
)
def test_after_years_of_absence_the_latest_moment_is_still_found(
    schedule: str, latest: str
) -> None:
    wish = cron_job(schedule, "2010-01-01T00:00:00Z")
    found = due(wish, NOW)
    assert found.scheduled is not None
    assert format_time(found.scheduled) == latest
    assert found.missed <= 101


def test_an_interval_goes_on_from_its_last_moment() -> None:
    wish = cron_job("@every 60s", "2026-03-10T11:59:50Z")
    assert summary(due(wish, NOW)) == ("", 0, 20)


def test_a_schedule_may_be_that_of_another_place() -> None:
    wish = cron_job("0 9 * * *", "2026-03-09T08:00:00Z", timeZone="Europe/Berlin")
    found = due(wish, NOW)
    assert found.scheduled is not None
    assert format_time(found.scheduled) == "2026-03-10T08:00:00Z"
    annotations = job_for(wish, found.scheduled)["metadata"]["annotations"]
    assert annotations == {SCHEDULED: "2026-03-10T09:00:00+01:00"}


def test_an_unknown_zone_is_said_to_be() -> None:
    with pytest.raises((KeyError, ValueError)):
        due(cron_job("* * * * *", timeZone="Europe/Atlantis"), NOW)


def local(schedule: str, since: str, count: int) -> list[str]:
    found = times_after(parse_schedule(schedule), parse_time(since), BERLIN)
    return [
        datetime.fromtimestamp(scheduled, BERLIN).strftime("%d %H:%M %Z")
        for scheduled in islice(found, count)
    ]


def test_an_hour_that_the_clock_skips_has_no_moments() -> None:
    assert local("30 2 * * *", "2026-03-28T12:00:00Z", 2) == ["30 02:30 CEST", "31 02:30 CEST"]
    assert local("0 * * * *", "2026-03-29T00:00:00Z", 2) == ["29 03:00 CEST", "29 04:00 CEST"]


def test_an_hour_that_the_clock_repeats_has_its_moments_twice() -> None:
    assert local("0 * * * *", "2026-10-24T23:30:00Z", 3) == [
        "25 02:00 CEST", "25 02:00 CET", "25 03:00 CET",
    ]  # fmt: skip
    assert local("30 2 * * *", "2026-10-24T12:00:00Z", 3) == [
        "25 02:30 CEST", "25 02:30 CET", "26 02:30 CET",
    ]  # fmt: skip


@given(
    st.sampled_from(["* * * * *", "*/7 * * * *", "30 2 * * *", "0 0 1 * *", "15 1 * 3,10 0"]),
    st.integers(1_767_225_600, 1_798_761_600),
    st.sampled_from(["UTC", "Europe/Berlin", "America/New_York", "Australia/Lord_Howe"]),
)
def test_moments_only_go_forward_and_match_the_clock(text: str, since: int, name: str) -> None:
    zone, schedule = ZoneInfo(name), parse_schedule(text)
    last: float = since
    for scheduled in islice(times_after(schedule, since, zone), 5):
        assert scheduled > last
        clock = datetime.fromtimestamp(scheduled, zone)
        assert clock.second == 0
        assert clock.minute in schedule.minutes
        assert clock.hour in schedule.hours
        last = scheduled


def test_without_a_zone_moments_are_those_of_the_schedule() -> None:
    schedule, start = parse_schedule("*/7 3 * * 1"), datetime(2026, 3, 10, tzinfo=UTC)
    expected = schedule.next_after(start)
    assert expected is not None
    assert next(times_after(schedule, start.timestamp(), UTC)) == expected.timestamp()


# What


def job(name: str, end: str = "", *, age: int = 0) -> KubeObject:
    conditions = [{"type": end, "status": "True"}] if end else []
    done = {"completionTime": format_time(NOW - age)} if end == "Complete" else {}
    metadata = {"name": name, "uid": name, "creationTimestamp": format_time(NOW - age)}
    return KubeObject.from_dict(
        {"metadata": metadata, "spec": {}, "status": {"conditions": conditions, **done}}
    )


def test_a_moment_gives_its_job_its_name() -> None:
    scheduled = parse_time("2026-03-10T12:00:00Z")
    made = job_for(cron_job("* * * * *"), scheduled)
    assert made["metadata"]["name"] == f"tick-{int(scheduled) // 60}"
    assert made["metadata"]["annotations"] == {SCHEDULED: "2026-03-10T12:00:00Z"}


def test_the_oldest_jobs_beyond_the_history_go() -> None:
    good = [job(f"good{n}", "Complete", age=n) for n in range(5)]
    bad = [job(f"bad{n}", "Failed", age=n) for n in range(3)]
    jobs = [*good, *bad, job("runs", age=900)]
    wish = cron_job("* * * * *")
    assert [one.name for one in beyond_history(wish, jobs)] == ["good4", "good3", "bad2", "bad1"]
    none = cron_job("* * * * *", successfulJobsHistoryLimit=0, failedJobsHistoryLimit=5)
    assert len(beyond_history(none, jobs)) == 5


def test_the_status_names_running_jobs_and_the_last_success() -> None:
    done, runs = job("a", "Complete", age=10), job("b")
    status = status_of(cron_job("* * * * *"), [runs], [done, runs], "2026-03-10T12:00:00Z")
    assert [one["name"] for one in status["active"]] == ["b"]
    assert status["lastSuccessfulTime"] == format_time(NOW - 10)


def test_jobs_that_ended_or_vanished_are_reported_once() -> None:
    content = cron_job("* * * * *").to_dict()
    content["status"] = {"active": [{"name": n, "uid": n} for n in ("a", "b", "c")]}
    events = job_events(KubeObject.from_dict(content), [job("a", "Failed"), job("b")])
    assert [(one.reason, one.message) for one in events] == [
        ("SawCompletedJob", "Saw completed job: a, condition: Failed"),
        ("MissingJob", "Active job went missing: c"),
    ]
