"""Simulated pods live as their annotations say, on anybody's clock."""

from __future__ import annotations

from typing import Any

import pytest

from proreus.api.object import KubeObject
from proreus.cluster.kubelet.runtimes.runtime import PodAddresses
from proreus.cluster.kubelet.runtimes.simulated.plan import read_plan
from proreus.cluster.kubelet.runtimes.simulated.pod import report
from proreus.cluster.kubelet.runtimes.simulated.state import SimulatedPod
from proreus.cluster.kubelet.runtimes.states import (
    CRASH_LOOP,
    ContainerState,
    Running,
    Terminated,
    Waiting,
)
from proreus.cluster.kubelet.status import has_changed, pod_status

BEGUN = 1_000_000.0


def pod(
    annotations: dict[str, str] | None = None,
    *,
    init: tuple[dict[str, Any], ...] = (),
    status: dict[str, Any] | None = None,
    owner: str = "",
    **spec: Any,
) -> KubeObject:
    owners = [{"kind": owner, "name": "o", "uid": "o", "controller": True}] if owner else []
    return KubeObject.from_dict(
        {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {
                "name": "p",
                "namespace": "d",
                "uid": "u",
                "annotations": {f"proreus.dev/{k}": v for k, v in (annotations or {}).items()},
                "ownerReferences": owners,
            },
            "spec": {"containers": [{"name": "c", "image": "i"}], "initContainers": init, **spec},
            "status": status or {},
        }
    )


def at(simulated: SimulatedPod, seconds: float) -> str:
    simulated.advance(BEGUN + seconds)
    return simulated.phase


def state_at(simulated: SimulatedPod, seconds: float) -> ContainerState:
    simulated.advance(BEGUN + seconds)
    return simulated.containers[0].state


def simulate(described: KubeObject) -> SimulatedPod:
    return SimulatedPod(read_plan(described), BEGUN, described.get("status"))


def status_of(described: KubeObject, simulated: SimulatedPod, now: float) -> dict[str, Any]:
    said = report(described, simulated, now)
    return pod_status(
        described, said, now, addresses=PodAddresses("10.0.0.2", "10.0.0.1"), allocated={}
    )


def test_a_pod_runs_and_is_ready_at_once_unless_annotations_say_otherwise() -> None:
    simulated = simulate(pod())

    assert at(simulated, 0) == "Running"
    assert simulated.containers[0].is_ready(BEGUN)
    assert simulated.next_due(BEGUN) is None


def test_starting_and_becoming_ready_take_the_time_that_annotations_ask_for() -> None:
    simulated = simulate(pod({"start-delay": "2s", "ready-after": "3s"}))

    assert at(simulated, 1) == "Pending"
    assert simulated.next_due(BEGUN + 1) == BEGUN + 2
    assert at(simulated, 2) == "Running"
    assert simulated.next_due(BEGUN + 2) == BEGUN + 5
    assert not simulated.containers[0].is_ready(BEGUN + 4)
    assert simulated.containers[0].is_ready(BEGUN + 5)


@pytest.mark.parametrize(
    ("policy", "code", "phase"),
    [
        ("Never", "0", "Succeeded"),
        ("Never", "3", "Failed"),
        ("OnFailure", "0", "Succeeded"),
        ("OnFailure", "3", "Running"),
        ("Always", "0", "Running"),
    ],
)
def test_an_exit_means_what_the_restart_policy_says(policy: str, code: str, phase: str) -> None:
    simulated = simulate(pod({"exit-after": "5s", "exit-code": code}, restartPolicy=policy))

    assert at(simulated, 4) == "Running"
    assert at(simulated, 6) == phase


def test_a_crash_loop_backs_off_ever_longer() -> None:
    simulated = simulate(pod({"exit-after": "1s", "exit-code": "1"}))

    assert state_at(simulated, 1) == Running(BEGUN + 1)  # the first restart is at once
    assert state_at(simulated, 2) == Waiting(CRASH_LOOP, BEGUN + 12)
    assert state_at(simulated, 13) == Waiting(CRASH_LOOP, BEGUN + 33)
    assert simulated.containers[0].restarts == 2
    at(simulated, 10_000)
    assert simulated.containers[0].backoff_s == 300


def test_a_container_may_crash_only_a_few_times() -> None:
    simulated = simulate(pod({"exit-after": "1s", "exit-code": "1", "exits": "2"}))

    at(simulated, 500)

    assert simulated.containers[0].restarts == 2
    assert isinstance(simulated.containers[0].state, Running)
    assert simulated.phase == "Running"


def test_init_containers_run_one_after_the_other_before_the_rest() -> None:
    simulated = simulate(
        KubeObject.from_dict(
            pod(init=({"name": "first"}, {"name": "second"})).to_dict()
            | {
                "metadata": {
                    "name": "p",
                    "annotations": {
                        "first.proreus.dev/exit-after": "2s",
                        "second.proreus.dev/exit-after": "3s",
                    },
                }
            }
        )
    )

    assert at(simulated, 1) == "Pending"
    assert [type(c.state) for c in simulated.init] == [Running, Waiting]
    assert at(simulated, 4) == "Pending"
    assert [type(c.state) for c in simulated.init] == [Terminated, Running]
    assert at(simulated, 5) == "Running"
    assert simulated.is_initialized


def test_sidecars_stay_as_long_as_the_work_and_then_end() -> None:
    sidecar = {"name": "proxy", "restartPolicy": "Always"}
    simulated = simulate(pod({"exit-after": "5s"}, init=(sidecar,), restartPolicy="Never"))

    assert at(simulated, 1) == "Running"
    assert [type(c.state) for c in simulated.init] == [Running]
    assert at(simulated, 5) == "Succeeded"
    assert [type(c.state) for c in simulated.init] == [Terminated]


def test_pods_of_jobs_finish_by_themselves() -> None:
    simulated = simulate(pod(owner="Job", restartPolicy="Never"))

    assert at(simulated, 0) == "Running"
    assert at(simulated, 1) == "Succeeded"


def test_stopping_takes_its_time_but_not_more_than_the_grace() -> None:
    quick = simulate(pod({"stop-after": "3s"}))
    stubborn = simulate(pod({"stop-after": "1m"}))
    for simulated in (quick, stubborn):
        at(simulated, 0)
        simulated.stop(BEGUN, 30)

    assert at(quick, 2) == "Running"
    assert quick.next_due(BEGUN + 2) == BEGUN + 3
    assert at(quick, 3) == "Succeeded"
    assert at(stubborn, 29) == "Running"

    stubborn.stop(BEGUN + 5, 60)  # cannot lengthen
    assert at(stubborn, 30) == "Failed"
    (container,) = stubborn.containers
    assert container.state == Terminated(137, BEGUN, BEGUN + 30)


@pytest.mark.parametrize(
    ("annotations", "phase"), [({}, "Succeeded"), ({"exit-after": "1h"}, "Failed")]
)
def test_work_that_is_interrupted_has_failed(annotations: dict[str, str], phase: str) -> None:
    simulated = simulate(pod(annotations))
    simulated.advance(BEGUN)

    simulated.stop(BEGUN + 5, 30)
    simulated.advance(BEGUN + 5)

    assert (simulated.is_stopped, simulated.phase) == (True, phase)


def test_a_pod_that_never_started_can_be_stopped() -> None:
    simulated = simulate(pod({"start-delay": "1h"}))
    simulated.stop(BEGUN, 30)

    assert at(simulated, 0) == "Failed"
    assert simulated.is_stopped


def test_a_kubelet_that_was_restarted_goes_on_where_it_stopped() -> None:
    described = pod({"exit-after": "100s", "exit-code": "1"})
    before = simulate(described)
    before.advance(BEGUN + 250)
    status = status_of(described, before, BEGUN + 250)

    after = SimulatedPod(read_plan(described), BEGUN + 260, status)
    after.advance(BEGUN + 260)
    before.advance(BEGUN + 260)

    assert after.containers == before.containers


def test_the_status_says_once_what_happened() -> None:
    described = pod()
    simulated = simulate(described)
    simulated.advance(BEGUN)

    status = status_of(described, simulated, BEGUN)
    written = pod(status=status)
    later = status_of(written, simulated, BEGUN + 60)

    assert has_changed(described, status)
    assert not has_changed(written, later)
    assert {c["type"]: c["status"] for c in status["conditions"]} == {
        "PodReadyToStartContainers": "True",
        "Initialized": "True",
        "Ready": "True",
        "ContainersReady": "True",
        "PodScheduled": "True",
    }


def test_a_readiness_gate_holds_back_the_pod_but_not_its_containers() -> None:
    described = pod(readinessGates=[{"conditionType": "example.com/g"}])
    simulated = simulate(described)
    simulated.advance(BEGUN)

    status = status_of(described, simulated, BEGUN)

    said = {c["type"]: c["status"] for c in status["conditions"]}
    assert (said["ContainersReady"], said["Ready"]) == ("True", "False")


def test_annotations_that_nobody_understands_are_as_good_as_absent() -> None:
    simulated = simulate(pod({"start-delay": "soon", "exit-code": "-x", "exits": "²"}))

    assert at(simulated, 0) == "Running"


def test_an_ephemeral_container_is_added_to_a_pod_that_runs_and_does_not_outlive_it() -> None:
    simulated = simulate(pod())
    assert at(simulated, 0) == "Running"
    debug = {"name": "debug", "image": "busybox"}

    changed = pod(ephemeralContainers=[debug])
    simulated.update(read_plan(changed))
    simulated.advance(BEGUN + 1)
    status = status_of(changed, simulated, BEGUN + 1)
    simulated.stop(BEGUN + 2, 1)
    simulated.advance(BEGUN + 3)

    (added,) = status["ephemeralContainerStatuses"]
    assert (added["name"], added["ready"]) == ("debug", False)
    assert "running" in added["state"]
    assert simulated.is_stopped
    assert isinstance(simulated.ephemeral[0].state, Terminated)


def test_an_ephemeral_container_that_ended_is_not_restarted() -> None:
    once = {"name": "debug", "image": "busybox", "command": ["sh", "-c", "exit 3"]}
    simulated = simulate(pod(ephemeralContainers=[once]))

    assert at(simulated, 100) == "Running"

    assert isinstance(simulated.ephemeral[0].state, Terminated)
    assert simulated.ephemeral[0].restarts == 0


@pytest.mark.parametrize(
    ("policy", "restarts"), [("NotRequired", 0), ("RestartContainer", 1)], ids=["in place", "anew"]
)
def test_a_resize_restarts_a_container_whose_policy_says_so(policy: str, restarts: int) -> None:
    def container(cpu: str) -> dict[str, Any]:
        policies = [{"resourceName": "cpu", "restartPolicy": policy}]
        resources = {"requests": {"cpu": cpu}}
        return {"name": "c", "image": "i", "resizePolicy": policies, "resources": resources}

    simulated = simulate(pod(containers=[container("1")]))
    assert at(simulated, 0) == "Running"

    simulated.update(read_plan(pod(containers=[container("2")])))

    assert isinstance(state_at(simulated, 1), Running)
    assert simulated.containers[0].restarts == restarts


def test_a_container_with_another_image_is_started_again() -> None:
    simulated = simulate(pod())
    assert at(simulated, 0) == "Running"

    simulated.update(read_plan(pod(containers=[{"name": "c", "image": "other"}])))

    assert isinstance(state_at(simulated, 1), Running)
    assert simulated.containers[0].restarts == 1
