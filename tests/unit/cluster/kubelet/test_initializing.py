"""What the containers of a pod wait for while its init containers run."""

from __future__ import annotations

import msgspec
import pytest

from proreus.api.object import KubeObject
from proreus.cluster.kubelet.runtimes.runtime import PodAddresses
from proreus.cluster.kubelet.runtimes.states import (
    CONFIG_ERROR,
    CREATING,
    INITIALIZING,
    PENDING,
    ContainerReport,
    PodReport,
    Running,
    Terminated,
    Waiting,
)
from proreus.cluster.kubelet.status import pod_status

_LISTS = ("initContainerStatuses", "containerStatuses", "ephemeralContainerStatuses")


def container(name: str, reason: str = CREATING) -> ContainerReport:
    state = Waiting(reason)
    return ContainerReport(name, "any", "", "", state, None, 0, False, False, allows_next=False)


def reasons(report: PodReport) -> list[str]:
    pod = KubeObject.from_dict({"kind": "Pod", "metadata": {"name": "a", "uid": "u"}})
    status = pod_status(pod, report, 0.0, addresses=PodAddresses("", ""), allocated={})
    found = [one["state"] for field in _LISTS for one in status.get(field) or ()]
    return [state["waiting"]["reason"] if "waiting" in state else "" for state in found]


@pytest.mark.parametrize("first", [Waiting(), Running(0.0), Waiting("CrashLoopBackOff", 9.0)])
def test_all_that_has_not_begun_waits_for_the_init_containers(
    first: Waiting | Running,
) -> None:
    init = [msgspec.structs.replace(container("i1"), state=first), container("i2")]
    report = PodReport(PENDING, 0.0, init, [container("c")], [container("e")])

    expected = "PodInitializing" if first == Waiting() else getattr(first, "reason", "")
    assert reasons(report) == [expected, INITIALIZING, INITIALIZING, INITIALIZING]


def test_without_init_containers_they_are_being_created() -> None:
    assert reasons(PodReport(PENDING, 0.0, [], [container("c")])) == [CREATING]


def test_another_reason_is_said_as_it_is() -> None:
    report = PodReport(PENDING, 0.0, [container("i", CONFIG_ERROR)], [container("c")])

    assert reasons(report) == [CONFIG_ERROR, INITIALIZING]


def test_a_container_that_has_run_does_not_wait_for_them_again() -> None:
    ended = Terminated(1, 0.0, 1.0)
    again = msgspec.structs.replace(container("c"), last=ended)

    assert reasons(PodReport(PENDING, 0.0, [container("i")], [again]))[1:] == [CREATING]
