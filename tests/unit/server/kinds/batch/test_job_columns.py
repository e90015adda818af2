"""Jobs and cron jobs, as tables print them."""

from __future__ import annotations

import pytest

from tests.unit.server.kinds.printing import cells
from tests.unit.server.views.sample import MINUTE_AGO

HOUR_AGO = "2027-01-15T07:00:00Z"


@pytest.mark.parametrize(
    ("conditions", "text"),
    [
        ([], "Running"),
        (["Complete"], "Complete"),
        (["FailureTarget"], "FailureTarget"),
        (["FailureTarget", "Failed"], "Failed"),
        (["Suspended"], "Suspended"),
    ],
)
def test_the_status_of_a_job(conditions: list[str], text: str) -> None:
    held = [{"type": name, "status": "True"} for name in conditions]
    assert cells("batch", "Job", {"status": {"conditions": held}})[1] == text


def test_completions_and_duration_of_a_job() -> None:
    status = {"succeeded": 2, "startTime": HOUR_AGO, "completionTime": MINUTE_AGO}
    found = cells("batch", "Job", {"spec": {"completions": 4}, "status": status})
    assert found[2:4] == ["2/4", "59m"]
    assert cells("batch", "Job", {"spec": {"parallelism": 3}})[2] == "0/1 of 3"
    assert cells("batch", "Job", {})[2:4] == ["0/1", ""]


def test_a_cron_job_that_never_ran() -> None:
    body = {"spec": {"schedule": "* * * * *", "suspend": False}}
    found = cells("batch", "CronJob", body)
    assert found[1:7] == ["* * * * *", "<none>", "False", 0, "<none>", "60s"]
