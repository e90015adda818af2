"""Events, as tables print them."""

from __future__ import annotations

from tests.unit.server.kinds.printing import cells
from tests.unit.server.views.sample import MINUTE_AGO

HOUR_AGO = "2027-01-15T07:00:00Z"


def test_an_event_with_a_series() -> None:
    body = {
        "type": "Normal",
        "reason": "Made",
        "involvedObject": {"kind": "Pod", "name": "p", "fieldPath": "f"},
        "message": " two\nlines ",
        "eventTime": HOUR_AGO,
        "reportingComponent": "me",
        "reportingInstance": "i",
        "series": {"count": 4, "lastObservedTime": MINUTE_AGO},
    }
    assert cells("", "Event", body) == [
        "60s", "Normal", "Made", "pod/p", "f", "me, i", "two\nlines", "60m", 4, "x",
    ]  # fmt: skip
