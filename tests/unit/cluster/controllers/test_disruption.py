"""What disruption budgets allow."""

from __future__ import annotations

from typing import Any

import pytest

from proreus.api.object import KubeObject
from proreus.api.values.timestamp import format_time
from proreus.cluster.controllers.disruption import decisions

NOW = 1_767_225_600.0


def budget(status: dict[str, Any] | None = None, **spec: Any) -> KubeObject:
    metadata = {"name": "b", "namespace": "default", "generation": 4}
    return KubeObject.from_dict({"metadata": metadata, "spec": spec, "status": status or {}})


def pod(name: str, *, ready: bool = True, going: bool = False) -> KubeObject:
    metadata: dict[str, Any] = {"name": name, "labels": {"app": "web"}}
    if going:
        metadata["deletionTimestamp"] = format_time(NOW)
    condition = {"type": "Ready", "status": "True" if ready else "False"}
    status = {"phase": "Running", "conditions": [condition]}
    return KubeObject.from_dict({"metadata": metadata, "status": status})


@pytest.mark.parametrize(
    ("spec", "expected", "desired"),
    [
        ({"minAvailable": 2}, 5, 2),
        ({"minAvailable": "50%"}, 5, 3),
        ({"maxUnavailable": 1}, 5, 4),
        ({"maxUnavailable": "50%"}, 5, 2),
        ({"maxUnavailable": 9}, 5, 0),
    ],
)
def test_so_many_must_stay_healthy(spec: dict[str, Any], expected: int, desired: int) -> None:
    assert decisions.need(budget(**spec), expected) == decisions.Need(expected, desired)


def test_shares_are_of_what_controllers_want() -> None:
    assert decisions.counts_controllers(budget(maxUnavailable=1))
    assert decisions.counts_controllers(budget(minAvailable="50%"))
    assert not decisions.counts_controllers(budget(minAvailable=1))


def test_an_empty_selector_means_all_and_none_means_none() -> None:
    assert decisions.selects(budget(selector={}), pod("a"))
    assert not decisions.selects(budget(), pod("a"))
    assert not decisions.selects(budget(selector={"matchLabels": {"app": "db"}}), pod("a"))


def test_only_healthy_pods_that_nobody_was_promised_may_go() -> None:
    pods = [pod("a"), pod("b"), pod("c", ready=False), pod("d", going=True), pod("e")]
    status = decisions.status_of(budget(), pods, decisions.Need(5, 1), {"e": format_time(NOW)}, NOW)

    assert (status["currentHealthy"], status["disruptionsAllowed"]) == (2, 1)
    assert status["disruptedPods"] == {"e": format_time(NOW)}
    assert status["observedGeneration"] == 4
    (condition,) = status["conditions"]
    assert (condition["status"], condition["reason"]) == ("True", "SufficientPods")


def test_where_nothing_is_expected_nothing_may_go() -> None:
    assert (
        decisions.status_of(budget(), [pod("a")], decisions.Need(0, 0), {}, NOW)[
            "disruptionsAllowed"
        ]
        == 0
    )


def test_an_eviction_is_remembered_until_its_pod_goes_or_for_two_minutes() -> None:
    noted = {
        "fresh": format_time(NOW - 20),
        "late": format_time(NOW - 121),
        "going": format_time(NOW - 20),
        "gone": format_time(NOW - 20),
    }
    pods = [pod("fresh"), pod("late"), pod("going", going=True)]

    found = decisions.disrupted(budget({"disruptedPods": noted}), pods, NOW)

    assert (list(found.waiting), found.overdue, found.again_s) == (["fresh"], ("late",), 100)


def test_when_nobody_knows_how_many_there_should_be_nothing_may_go() -> None:
    status = decisions.failed_status(
        budget({"disruptionsAllowed": 3, "currentHealthy": 4}), "why", NOW
    )
    assert (status["disruptionsAllowed"], status["currentHealthy"]) == (0, 4)
    assert status["conditions"][0]["reason"] == "SyncFailed"
