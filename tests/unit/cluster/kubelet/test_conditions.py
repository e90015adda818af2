"""Conditions that a kubelet writes: when they hold, why they do not, and with which fields."""

from __future__ import annotations

from typing import Any

import pytest

from proreus.api.json_types import JsonObject
from proreus.api.object import KubeObject
from proreus.cluster.kubelet.runtimes.runtime import PodAddresses
from proreus.cluster.kubelet.runtimes.states import (
    FAILED,
    PENDING,
    RUNNING,
    SUCCEEDED,
    ContainerReport,
    ContainerState,
    PodReport,
    Running,
    Terminated,
    Waiting,
)
from proreus.cluster.kubelet.status import pod_status

_ENDED = Terminated(0, 0.0, 1.0)


def container(
    name: str, state: ContainerState, *, is_ready: bool = False, allows_next: bool = True
) -> ContainerReport:
    return ContainerReport(
        name, "any", "", "", state, None, 0, is_ready, is_ready, allows_next=allows_next
    )


def conditions(
    report: PodReport, *known: JsonObject, **spec: Any
) -> dict[str, tuple[str, str, str]]:
    """Status, reason and message by type."""
    pod = KubeObject.from_dict(
        {"kind": "Pod", "metadata": {"name": "a"}, "spec": spec, "status": {"conditions": known}}
    )
    status = pod_status(pod, report, 0.0, addresses=PodAddresses("", ""), allocated={})
    return {
        one["type"]: (one["status"], one.get("reason") or "", one.get("message") or "")
        for one in status["conditions"]
    }


def ready_condition(*known: JsonObject) -> JsonObject:
    pod = KubeObject.from_dict(
        {
            "kind": "Pod",
            "metadata": {"name": "a", "uid": "u", "generation": 1},
            "status": {"conditions": list(known)},
        }
    )
    report = PodReport(RUNNING, 0.0, init=[], containers=[])
    status = pod_status(pod, report, 0.0, addresses=PodAddresses("", ""), allocated={})
    [found] = [one for one in status["conditions"] if one["type"] == "Ready"]
    assert isinstance(found, dict)
    return found


def test_a_new_condition_is_written_as_it_is_stored() -> None:
    assert ready_condition() == {
        "type": "Ready",
        "status": "True",
        "observedGeneration": 1,
        "lastProbeTime": None,
        "lastTransitionTime": "1970-01-01T00:00:00Z",
    }


def test_of_a_condition_that_is_there_the_probe_time_is_not_removed() -> None:
    unready = {"type": "Ready", "status": "False", "lastProbeTime": None}

    assert "lastProbeTime" not in ready_condition(unready)


def test_a_reason_that_holds_no_more_is_removed() -> None:
    unready = {"type": "Ready", "status": "False", "reason": "ContainersNotReady", "message": "…"}

    found = ready_condition(unready)

    assert found["status"] == "True"
    assert (found["reason"], found["message"]) == (None, None)


@pytest.mark.parametrize(("phase", "why"), [(SUCCEEDED, "PodCompleted"), (FAILED, "PodFailed")])
def test_a_pod_that_is_over_says_by_one_word_why_nothing_is_ready(phase: str, why: str) -> None:
    found = conditions(PodReport(phase, 0.0, init=[], containers=[container("c", _ENDED)]))

    assert found["Ready"] == found["ContainersReady"] == ("False", why, "")
    assert found["Initialized"] == ("True", why if phase == SUCCEEDED else "", "")


def test_a_pod_whose_init_container_failed_was_never_initialized() -> None:
    failed = container("i", Terminated(1, 0.0, 1.0), allows_next=False)
    report = PodReport(FAILED, 0.0, init=[failed], containers=[container("c", Waiting())])

    said = "containers with incomplete status: [i]"
    assert conditions(report)["Initialized"] == ("False", "ContainersNotInitialized", said)


@pytest.mark.parametrize("policy", ["Always", None])
def test_of_init_containers_only_sidecars_must_be_ready(policy: str | None) -> None:
    init = container("i", Running(0.0))
    report = PodReport(RUNNING, 0.0, [init], [container("c", Running(0.0), is_ready=True)])

    found = conditions(report, initContainers=[{"name": "i", "restartPolicy": policy}])

    unready = ("False", "ContainersNotReady", "containers with unready status: [i]")
    assert found["Ready"] == (unready if policy else ("True", "", ""))


def test_unready_sidecars_are_named_before_other_containers() -> None:
    report = PodReport(PENDING, 0.0, [container("z", Waiting())], [container("a", Waiting())])

    found = conditions(report, initContainers=[{"name": "z", "restartPolicy": "Always"}])

    assert found["ContainersReady"][2] == "containers with unready status: [z a]"


@pytest.mark.parametrize(
    ("begun", "holds"), [(Running(0.0), "True"), (_ENDED, "True"), (Waiting(), "False")]
)
def test_a_sidecar_that_restarts_takes_initialization_back_only_before_containers_begin(
    begun: ContainerState, holds: str
) -> None:
    sidecar = container("i", Waiting("CrashLoopBackOff", 9.0), allows_next=False)
    report = PodReport(RUNNING, 0.0, [sidecar], [container("c", begun)])

    assert conditions(report)["Initialized"][0] == holds


def test_every_readiness_gate_that_is_closed_is_named() -> None:
    report = PodReport(RUNNING, 0.0, [], [container("c", Running(0.0), is_ready=True)])
    gates = [{"conditionType": name} for name in ("example.com/a", "example.com/b", "c")]

    known = ({"type": "example.com/b", "status": "False"}, {"type": "c", "status": "True"})
    found = conditions(report, *known, readinessGates=gates)

    assert found["ContainersReady"][0] == "True"
    assert found["Ready"] == (
        "False",
        "ReadinessGatesNotReady",
        'corresponding condition of pod readiness gate "example.com/a" does not exist., '
        'the status of pod readiness gate "example.com/b" is not "True", but False',
    )


@pytest.mark.parametrize("is_resizing", [True, False])
def test_a_resize_is_in_progress_until_it_is_carried_out(is_resizing: bool) -> None:
    pod = KubeObject.from_dict(
        {
            "kind": "Pod",
            "metadata": {"name": "a", "generation": 4},
            "status": {"conditions": [{"type": "PodResizeInProgress", "status": "True"}]},
        }
    )
    status = pod_status(
        pod,
        PodReport(RUNNING, 0.0, [], []),
        0.0,
        addresses=PodAddresses("", ""),
        allocated={},
        is_resizing=is_resizing,
    )

    (found,) = [one for one in status["conditions"] if one["type"] == "PodResizeInProgress"]
    assert found.get("$patch") == (None if is_resizing else "delete")
    assert found.get("observedGeneration") == (4 if is_resizing else None)


def test_statuses_are_ordered_by_name_and_those_of_init_containers_as_in_the_spec() -> None:
    several = [container(name, Running(0.0)) for name in ("web", "cache", "log")]
    report = PodReport(RUNNING, 0.0, several, several, several)
    pod = KubeObject.from_dict({"kind": "Pod", "metadata": {"name": "a"}})

    status = pod_status(pod, report, 0.0, addresses=PodAddresses("", ""), allocated={})

    names = {
        field: [one["name"] for one in status[field]] for field in status if "Statuses" in field
    }
    assert names == {
        "initContainerStatuses": ["web", "cache", "log"],
        "containerStatuses": ["cache", "log", "web"],
        "ephemeralContainerStatuses": ["cache", "log", "web"],
    }
