"""Times are read like Go reads them and written in UTC."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from proreus.api.values import timestamp


@pytest.mark.parametrize(
    ("given", "written"),
    [
        ("2024-01-01T00:00:00Z", "2024-01-01T00:00:00Z"),
        ("2024-01-01T02:00:00+02:00", "2024-01-01T00:00:00Z"),
        ("2024-02-29T23:59:59.999Z", "2024-02-29T23:59:59Z"),
        ("0900-01-01T00:00:00Z", "0900-01-01T00:00:00Z"),
        ("2024-01-02T5:00:00Z", "2024-01-02T05:00:00Z"),
        ("2024-01-02T00:00:00+24:00", "2024-01-01T00:00:00Z"),
        ("9999-12-31T23:59:59-01:00", "9999-12-31T23:59:59Z"),
    ],
)
def test_a_time_is_written_in_utc_to_the_second(given: str, written: str) -> None:
    assert timestamp.canonical_time(given) == written


def test_a_micro_time_keeps_six_digits() -> None:
    given = "2024-01-01T02:00:00.500000+02:00"

    assert timestamp.canonical_micro_time(given) == "2024-01-01T00:00:00.500000Z"


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("noon", 'as "2006-01-02T15:04:05Z07:00": cannot parse "noon" as "2006"'),
        ("2024-01-01", 'as "2006-01-02T15:04:05Z07:00": cannot parse "" as "T"'),
        ("2024-13-01T00:00:00Z", ": month out of range"),
        ("2023-02-29T00:00:00Z", ": day out of range"),
        ("2024-01-01T24:00:00Z", ": hour out of range"),
        ("2024-01-01T00:00:00Zx", ': extra text: "x"'),
        ("2023-02-30T00:00:00Zx", ': extra text: "x"'),
        ("2023-02-30T24:00:00Z", ": hour out of range"),
        ("2024-01-01T00:00:00+25:00", ": time zone offset hour out of range"),
        ("2024-01-01T00:00:00+01:61", ": time zone offset minute out of range"),
        ("é", r'cannot parse "\xc3\xa9" as "2006"'),
    ],
)
def test_a_bad_time_names_its_first_fault(text: str, problem: str) -> None:
    with pytest.raises(timestamp.TimeError) as caught:
        timestamp.canonical_time(text)

    assert str(caught.value).replace(f'parsing time "{text}" ', "").endswith(problem)


def test_there_is_a_year_zero_and_it_is_a_leap_year() -> None:
    assert timestamp.canonical_time("0000-02-29T01:00:00+01:00") == "0000-02-29T00:00:00Z"
    assert timestamp.canonical_micro_time("0000-01-02T00:00:00.500000Z")[:4] == "0000"


def test_a_micro_time_without_its_digits_is_refused() -> None:
    with pytest.raises(timestamp.TimeError, match=r'cannot parse "Z" as ".000000"'):
        timestamp.canonical_micro_time("2024-01-01T00:00:01Z")


@given(st.integers(0, 4_000_000_000))
def test_what_is_written_is_read_back(seconds: int) -> None:
    assert timestamp.parse_time(timestamp.format_time(seconds)) == seconds
    written = timestamp.format_micro_time(seconds)
    assert timestamp.canonical_micro_time(written) == written
