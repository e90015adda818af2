"""Schedules, durations and percentages."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from proreus.api.values import cron, duration, int_or_string


@pytest.mark.parametrize(
    ("schedule", "after", "expected"),
    [
        ("*/5 * * * *", "2024-01-01T00:01", "2024-01-01T00:05"),
        ("0 0 1 * *", "2024-01-31T12:00", "2024-02-01T00:00"),
        ("30 4 * * mon-fri", "2024-01-06T05:00", "2024-01-08T04:30"),
        ("0 0 29 2 *", "2023-03-01T00:00", "2024-02-29T00:00"),
        ("0 0 13 * 5", "2024-01-10T00:00", "2024-01-12T00:00"),
        ("@hourly", "2024-01-01T00:00", "2024-01-01T01:00"),
        ("@every 90s", "2024-01-01T00:00", "2024-01-01T00:01:30"),
    ],
)
def test_the_next_time_of_a_schedule(schedule: str, after: str, expected: str) -> None:
    moment = datetime.fromisoformat(after).replace(tzinfo=UTC)

    found = cron.parse_schedule(schedule).next_after(moment)

    assert found == datetime.fromisoformat(expected).replace(tzinfo=UTC)


def test_a_day_that_never_comes_has_no_next_time() -> None:
    assert cron.parse_schedule("0 0 31 2 *").next_after(datetime(2024, 1, 1, tzinfo=UTC)) is None


@pytest.mark.parametrize(
    ("schedule", "problem"),
    [
        ("", "empty spec string"),
        ("* * *", "expected exactly 5 fields, found 3: [* * *]"),
        ("60 * * * *", "end of range (60) above maximum (59): 60"),
        ("* * 0 * *", "beginning of range (0) below minimum (1): 0"),
        ("5-1 * * * *", "beginning of range (5) beyond end of range (1): 5-1"),
        ("*/0 * * * *", "step of range should be a positive number: */0"),
        ("x * * * *", 'failed to parse int from x: strconv.Atoi: parsing "x": invalid syntax'),
        ("@often", "unrecognized descriptor: @often"),
    ],
)
def test_a_bad_schedule_says_why(schedule: str, problem: str) -> None:
    with pytest.raises(cron.CronError) as caught:
        cron.parse_schedule(schedule)

    assert str(caught.value) == problem


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("0", 0.0), ("1h30m", 5400.0), ("1.5s", 1.5), ("300ms", 0.3), ("-2m", -120.0)],
)
def test_a_duration_is_read(text: str, seconds: float) -> None:
    assert duration.parse_duration(text) == pytest.approx(seconds)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", 'time: invalid duration ""'),
        ("x", 'time: invalid duration "x"'),
        (".s", 'time: invalid duration ".s"'),
        ("--1s", 'time: invalid duration "--1s"'),
        ("99999999h", 'time: invalid duration "99999999h"'),
        ("é", 'time: invalid duration "\\xc3\\xa9"'),
        ("5", 'time: missing unit in duration "5"'),
        ("1h1", 'time: missing unit in duration "1h1"'),
        ("1S", 'time: unknown unit "S" in duration "1S"'),
        ("1m-1s", 'time: unknown unit "m-" in duration "1m-1s"'),
    ],
)
def test_a_bad_duration_is_refused_in_go_s_words(text: str, message: str) -> None:
    with pytest.raises(ValueError, match="duration") as refused:
        duration.parse_duration(text)

    assert str(refused.value) == message


@given(st.integers(0, 10**7))
def test_a_duration_is_written_as_it_is_read(milliseconds: int) -> None:
    text = duration.format_duration(milliseconds / 1000)

    assert duration.parse_duration(text) == pytest.approx(milliseconds / 1000)


def test_a_share_is_rounded_as_asked() -> None:
    assert int_or_string.scaled("25%", 10, round_up=True) == 3
    assert int_or_string.scaled("25%", 10, round_up=False) == 2
    assert int_or_string.scaled(4, 10, round_up=False) == 4
    with pytest.raises(ValueError, match="not a percentage"):
        int_or_string.scaled("four", 10, round_up=True)
