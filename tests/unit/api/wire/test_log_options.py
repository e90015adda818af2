"""PodLogOptions: read from a query, validated, and spelled for a kubelet."""

from __future__ import annotations

import pytest

from proreus.api.field_error import join
from proreus.api.status import BadRequest
from proreus.api.wire.log_options import PodLogOptions, decode_log_options
from proreus.api.wire.query import parse_query


def test_what_is_asked_for_is_passed_on() -> None:
    asked = "follow=true&previous=1&timestamps=true&sinceSeconds=5&tailLines=3&limitBytes=9"

    options = decode_log_options(parse_query(f"container=c&{asked}"))

    assert options == PodLogOptions(
        container="c",
        follow=True,
        previous=True,
        timestamps=True,
        since_seconds=5,
        tail_lines=3,
        limit_bytes=9,
    )
    assert decode_log_options(parse_query(options.encode())) == decode_log_options(
        parse_query(asked)
    )


def test_nothing_asked_for_is_everything() -> None:
    assert decode_log_options({}).encode() == ""
    assert decode_log_options({}).since(100.0) is None


@pytest.mark.parametrize(
    ("query", "said"),
    [
        ("tailLines=-1", "tailLines: Invalid value: -1: must be greater than or equal to 0"),
        ("limitBytes=0", "limitBytes: Invalid value: 0: must be greater than 0"),
        ("sinceSeconds=0", "sinceSeconds: Invalid value: 0: must be greater than 0"),
        (
            "stream=Std",
            'stream: Unsupported value: "Std": supported values: "All", "Stderr", "Stdout"',
        ),
        (
            "stream=Stdout&tailLines=1",
            "tailLines: Forbidden: "
            "`tailLines` and specific `stream` are mutually exclusive for now",
        ),
    ],
)
def test_what_makes_no_sense_is_reported(query: str, said: str) -> None:
    assert join(decode_log_options(parse_query(query)).violations()) == said


def test_two_beginnings_are_one_too_many() -> None:
    options = decode_log_options(parse_query("sinceSeconds=5&sinceTime=2026-01-01T00:00:00Z"))

    assert join(options.violations()) == (
        "[]: Forbidden: at most one of `sinceTime` or `sinceSeconds` may be specified"
    )


@pytest.mark.parametrize("query", ["tailLines=x", "sinceSeconds=1.5", "sinceTime=yesterday"])
def test_what_cannot_be_read_is_a_bad_request(query: str) -> None:
    with pytest.raises(BadRequest):
        decode_log_options(parse_query(query))


def test_seconds_count_from_now_and_times_from_the_epoch() -> None:
    assert PodLogOptions(since_seconds=10).since(100.0) == 90.0
    assert PodLogOptions(since_time="1970-01-01T00:00:07Z").since(100.0) == 7.0
