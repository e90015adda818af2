"""Events: as tables print them, and what of them stays."""

from __future__ import annotations

from tests.unit.server.kinds.creating import created, resource_of
from tests.unit.server.kinds.printing import cells
from tests.unit.server.validated import at_once
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


def test_what_an_event_says_stays() -> None:
    """The values are printed as Kubernetes has them inside."""
    fields = {"eventTime": "2027-01-15T07:00:00.000000Z", "reportingInstance": "i",
              "action": "A", "reason": "R", "type": "Normal",
              "involvedObject": {"kind": "Pod", "name": "p", "namespace": "n"},
              "reportingComponent": "a.b/c"}  # fmt: skip
    old = created("v1", "Event", **fields)
    rules = resource_of("events.k8s.io", "Event").rules
    new = {**old, "involvedObject": {"kind": "Pod", "name": "q", "namespace": "n"}, "action": ""}

    found = [str(error) for error in at_once(rules.check_update(new, old))]

    printed = (
        '{"Kind":"Pod","Namespace":"n","Name":"q","UID":"","APIVersion":"","ResourceVersion":"",'
        '"FieldPath":""}'
    )
    assert found == [
        "action: Required value",
        f"involvedObject: Invalid value: {printed}: field is immutable",
        'action: Invalid value: "": field is immutable',
    ]
