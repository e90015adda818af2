"""Reports of clients: bounded, forgotten, and asked for more often while somebody looks."""

from __future__ import annotations

import pytest

from proreus.api.status import ApiError, BadRequest, TooLarge
from proreus.api.wire import json
from proreus.server.http.client_reports import (
    REPORT_BYTES_MAX,
    ClientReport,
    ClientReports,
    read_report,
)


def _report(identity: str, user: str = "ann", at_s: float = 0.0) -> ClientReport:
    return ClientReport(user, "agent/1", identity, [], [], at_s, at_s)


def test_reports_are_wanted_seldom_until_somebody_looks() -> None:
    reports = ClientReports()

    before = reports.take(_report("one", at_s=100.0))
    reports.look(101.0)
    while_looking = reports.take(_report("one", at_s=102.0))
    afterwards = reports.take(_report("one", at_s=200.0))

    assert while_looking < before == afterwards


def test_the_newest_report_of_a_client_counts_and_old_ones_are_forgotten() -> None:
    reports = ClientReports()
    reports.take(_report("one", at_s=0.0))
    reports.take(_report("two", at_s=0.0))
    reports.take(_report("one", at_s=50.0))

    assert [report.identity for report in reports.look(55.0)] == ["one", "two"]
    assert [report.identity for report in reports.look(100.0)] == ["one"]


def test_nobody_can_speak_for_another_user() -> None:
    reports = ClientReports()
    reports.take(_report("one", "ann"))
    reports.take(_report("one", "eve"))

    assert [report.user for report in reports.look(1.0)] == ["ann", "eve"]


def test_one_user_cannot_push_out_the_others() -> None:
    reports = ClientReports()
    reports.take(_report("real", "ann"))

    for number in range(1000):
        reports.take(_report(f"fake-{number}", "eve"))

    found = reports.look(1.0)
    assert len(found) <= 100
    assert "ann" in {report.user for report in found}


def test_the_number_of_clients_is_bounded() -> None:
    reports = ClientReports()

    for number in range(1000):
        reports.take(_report("one", f"user-{number}"))

    assert len(reports.look(1.0)) == 200


@pytest.mark.parametrize(
    ("body", "failure"),
    [
        (b"no json", BadRequest),
        (b"[]", BadRequest),
        (b'{"identity": "", "informers": [], "controllers": []}', BadRequest),
        (b'{"identity": 1, "informers": [], "controllers": []}', BadRequest),
        (b'{"identity": "one", "informers": {}, "controllers": []}', BadRequest),
        (b'{"identity": "one"}', BadRequest),
        (b" " * (REPORT_BYTES_MAX + 1), TooLarge),
        (
            b'{"identity": "one", "informers": '
            + b"[" * 300
            + b"]" * 300
            + b', "controllers": []}',
            BadRequest,
        ),
        (json.encode({"identity": "x" * 300, "informers": [], "controllers": []}), BadRequest),
    ],
)
def test_a_report_that_is_none_is_refused(body: bytes, failure: type[ApiError]) -> None:
    with pytest.raises(failure):
        read_report(body, user="ann", user_agent="", now_s=0.0, now=0.0)
