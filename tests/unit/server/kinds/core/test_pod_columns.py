"""Pods, as tables print them."""

from __future__ import annotations

from typing import Any

import pytest

from tests.unit.server.kinds.creating import resource_of
from tests.unit.server.kinds.printing import cells
from tests.unit.server.views.sample import MINUTE_AGO

HOUR_AGO = "2027-01-15T07:00:00Z"
RUNNING = {"name": "c", "ready": True, "restartCount": 0, "state": {"running": {}}}


def pod(status: dict[str, Any], spec: dict[str, Any] | None = None, **metadata: Any) -> list[Any]:
    body = {"spec": {"containers": [{"name": "c"}], **(spec or {})}, "status": status}
    return cells("", "Pod", body, **metadata)


@pytest.mark.parametrize(
    ("state", "text"),
    [
        ({"waiting": {"reason": "ImagePullBackOff"}}, "ImagePullBackOff"),
        ({"terminated": {"reason": "Error", "exitCode": 1}}, "Error"),
        ({"terminated": {"exitCode": 3}}, "ExitCode:3"),
        ({"terminated": {"exitCode": 137, "signal": 9}}, "Signal:9"),
        ({"waiting": {}}, "Pending"),
    ],
)
def test_the_status_of_a_pod_follows_from_its_containers(state: Any, text: str) -> None:
    found = pod({"phase": "Pending", "containerStatuses": [{"name": "c", "state": state}]})
    assert found[1:3] == ["0/1", text]


def test_a_running_pod() -> None:
    found = pod(
        {"phase": "Running", "podIP": "10.0.0.7", "containerStatuses": [RUNNING]},
        {"nodeName": "n1"},
    )
    assert found == ["x", "1/1", "Running", "0", "60s", "10.0.0.7", "n1", "<none>", "<none>"]


def test_restarts_say_how_long_ago_the_last_was() -> None:
    ended = {"terminated": {"exitCode": 1, "finishedAt": HOUR_AGO}}
    crashed = {**RUNNING, "restartCount": 3, "lastState": ended}
    assert pod({"phase": "Running", "containerStatuses": [crashed]})[3] == "3 (60m ago)"


@pytest.mark.parametrize(("ready", "text"), [("True", "Running"), ("False", "NotReady")])
def test_a_completed_container_beside_a_running_one(ready: str, text: str) -> None:
    done = {"name": "d", "state": {"terminated": {"reason": "Completed", "exitCode": 0}}}
    found = pod(
        {
            "phase": "Running",
            "containerStatuses": [done, RUNNING],
            "conditions": [{"type": "Ready", "status": ready}],
        },
        {"containers": [{"name": "d"}, {"name": "c"}]},
    )
    assert found[1:3] == ["1/2", text]


def test_a_completed_container_beside_a_failed_one() -> None:
    done = {"name": "d", "state": {"terminated": {"reason": "Completed", "exitCode": 0}}}
    failed = {"name": "c", "state": {"terminated": {"reason": "OOMKilled", "exitCode": 137}}}
    status = {"phase": "Failed", "containerStatuses": [done, failed]}

    assert pod(status, {"containers": [{"name": "d"}, {"name": "c"}]})[2] == "OOMKilled"


@pytest.mark.parametrize(
    ("states", "text"),
    [
        ([{"running": {}}], "Init:0/2"),
        ([{"terminated": {"exitCode": 0}}, {"running": {}}], "Init:1/2"),
        ([{"terminated": {"exitCode": 1, "reason": "Error"}}], "Init:Error"),
        ([{"terminated": {"exitCode": 5}}], "Init:ExitCode:5"),
        ([{"waiting": {"reason": "CrashLoopBackOff"}}], "Init:CrashLoopBackOff"),
        ([{"waiting": {"reason": "PodInitializing"}}], "Init:0/2"),
    ],
)
def test_init_containers_come_first(states: list[Any], text: str) -> None:
    found = pod(
        {
            "phase": "Pending",
            "initContainerStatuses": [
                {"name": f"i{at}", "state": state} for at, state in enumerate(states)
            ],
        },
        {"initContainers": [{"name": "i0"}, {"name": "i1"}]},
    )
    assert found[2] == text


def test_a_started_sidecar_counts_as_a_container() -> None:
    sidecar = {
        "name": "s",
        "started": True,
        "ready": True,
        "restartCount": 3,
        "state": {"running": {}},
    }
    found = pod(
        {"phase": "Running", "initContainerStatuses": [sidecar], "containerStatuses": [RUNNING]},
        {"initContainers": [{"name": "s", "restartPolicy": "Always"}]},
    )
    assert found[1:4] == ["2/2", "Running", "3"]


def test_a_pod_that_is_held_back_or_going_away() -> None:
    gated = [{"type": "PodScheduled", "status": "False", "reason": "SchedulingGated"}]
    assert pod({"phase": "Pending", "conditions": gated})[2] == "SchedulingGated"
    assert pod({"phase": "Running"}, deletionTimestamp=MINUTE_AGO)[2] == "Terminating"
    lost = {"phase": "Running", "reason": "NodeLost"}
    assert pod(lost, deletionTimestamp=MINUTE_AGO)[2] == "Unknown"
    assert pod({"phase": "Failed"}, deletionTimestamp=MINUTE_AGO)[2] == "Failed"


def test_finished_pods_are_marked() -> None:
    printer = resource_of("", "Pod").printer
    (mark,) = printer.conditions({"status": {"phase": "Succeeded"}})
    assert (mark["type"], mark["status"], mark["reason"]) == ("Completed", "True", "Succeeded")


def test_readiness_gates_are_counted() -> None:
    conditions = [{"type": "a", "status": "True"}, {"type": "b", "status": "False"}]
    gates = [{"conditionType": "a"}, {"conditionType": "b"}]
    assert pod({"conditions": conditions}, {"readinessGates": gates})[8] == "1/2"
