"""Durations for people."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from proreus.api.table import INVALID, Column, human_duration

MINUTE, HOUR, DAY, YEAR = 60, 3600, 86400, 365 * 86400


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (-2.5, INVALID),
        (-1.9, "0s"),
        (0, "0s"),
        (1.99, "1s"),
        (119, "119s"),
        (120, "2m"),
        (125, "2m5s"),
        (10 * MINUTE - 1, "9m59s"),
        (10 * MINUTE, "10m"),
        (90 * MINUTE, "90m"),
        (3 * HOUR, "3h"),
        (3 * HOUR + 7 * MINUTE, "3h7m"),
        (8 * HOUR, "8h"),
        (47 * HOUR + 59 * MINUTE, "47h"),
        (2 * DAY, "2d"),
        (7 * DAY + 23 * HOUR, "7d23h"),
        (8 * DAY + 23 * HOUR, "8d"),
        (2 * YEAR - 1, "729d"),
        (2 * YEAR, "2y"),
        (2 * YEAR + DAY, "2y1d"),
        (8 * YEAR + 300 * DAY, "8y"),
    ],
)
def test_a_duration_gets_coarser_as_it_grows(seconds: float, text: str) -> None:
    assert human_duration(seconds) == text


@given(st.floats(min_value=0, max_value=1e10))
def test_a_duration_has_at_most_two_units_and_no_zero_second_one(seconds: float) -> None:
    text = human_duration(seconds)
    assert re.fullmatch(r"\d+[smhdy]([1-9]\d*[smhd])?", text)


def test_a_column_definition_has_all_five_fields() -> None:
    assert Column("Name").definition() == {
        "name": "Name",
        "type": "string",
        "format": "",
        "description": "",
        "priority": 0,
    }
