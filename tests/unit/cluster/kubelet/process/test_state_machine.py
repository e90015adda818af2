"""Which container starts, stops or waits, and what the pod is meanwhile."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from proreus.cluster.kubelet.runtimes.pod_spec.pod_spec import read_pod, user_refusal
from proreus.cluster.kubelet.runtimes.process.restore import restore
from proreus.cluster.kubelet.runtimes.process.state_machine import (
    ContainerStateMachine,
    PodStateMachine,
)
from proreus.cluster.kubelet.runtimes.runtime import PodAddresses
from proreus.cluster.kubelet.runtimes.states import (
    CRASH_LOOP,
    TERMINAL,
    Running,
    Terminated,
    Waiting,
)
from proreus.cluster.kubelet.status import pod_status
from tests.unit.cluster.kubelet.pods import pod_object, pod_spec

BEGUN = 1_000_000.0


class Play:
    """A course, and somebody who does what it says at once."""

    def __init__(self, *containers: dict[str, Any], **spec: Any) -> None:
        self.machine = PodStateMachine(pod_spec(*containers, **spec), BEGUN)
        self.now = BEGUN
        self._runs = 0

    def of(self, name: str) -> ContainerStateMachine:
        found = self.machine.container(name)
        assert found is not None
        return found

    def settle(self) -> list[str]:
        """Start everything that may start; who did."""
        started: list[str] = []
        while (container := self.machine.steps(self.now).start) is not None:
            self.run(container)
            started.append(container.spec.name)
        return started

    def run(self, container: ContainerStateMachine) -> None:
        self._runs += 1
        container.begin()
        container.set_running(f"id-{self._runs}", self.now)
        container.set_started()
        container.is_ready = True

    def exit(self, name: str, code: int = 0) -> None:
        container = self.of(name)
        assert isinstance(container.state, Running)
        started_at = container.state.started_at
        ended = Terminated(code, started_at, self.now, container_id=container.container_id)
        container.ended(ended)

    def stopping(self) -> list[str]:
        return [container.spec.name for container in self.machine.steps(self.now).stop]


def init(name: str, **content: Any) -> dict[str, Any]:
    return {"name": name, "image": "i", "command": ["true"], **content}


def test_init_containers_run_one_after_the_other_before_the_rest() -> None:
    play = Play({}, {}, initContainers=[init("a"), init("b")])

    assert play.settle() == ["a"]
    assert play.machine.phase() == "Pending"
    play.exit("a")
    assert play.settle() == ["b"]
    play.exit("b")
    assert play.settle() == ["c1", "c2"]
    assert play.machine.phase() == "Running"


def test_a_sidecar_lets_the_next_begin_once_it_has_started_and_ends_last() -> None:
    sidecars = [init("s1", restartPolicy="Always"), init("s2", restartPolicy="Always")]
    play = Play({}, initContainers=sidecars, restartPolicy="Never")

    assert play.settle() == ["s1", "s2", "c1"]
    assert play.stopping() == []
    play.exit("c1")
    assert play.stopping() == ["s2"]
    play.exit("s2", 143)
    assert play.stopping() == ["s1"]
    assert play.machine.phase() == "Running"
    play.exit("s1", 143)

    assert play.machine.is_over
    assert play.machine.phase() == "Succeeded"


def test_a_sidecar_that_ends_is_restarted_while_the_rest_goes_on() -> None:
    play = Play({}, initContainers=[init("s", restartPolicy="Always")])
    play.settle()

    play.exit("s")

    assert play.settle() == ["s"]
    assert play.of("s").restarts == 1
    assert play.machine.phase() == "Running"


def test_a_container_waits_for_the_hook_of_the_one_before_it() -> None:
    play = Play({}, {})
    first = play.machine.steps(play.now).start
    assert first is not None

    first.begin()
    assert play.machine.steps(play.now).start is None
    first.set_running("id", play.now)

    assert play.settle() == ["c2"]


@pytest.mark.parametrize(
    ("policy", "code", "phase"),
    [
        ("Never", 0, "Succeeded"),
        ("Never", 3, "Failed"),
        ("OnFailure", 0, "Succeeded"),
        ("OnFailure", 3, "Running"),
        ("Always", 0, "Running"),
    ],
)
def test_an_exit_means_what_the_restart_policy_says(policy: str, code: int, phase: str) -> None:
    play = Play({}, restartPolicy=policy)
    play.settle()

    play.exit("c1", code)

    assert play.machine.phase() == phase
    assert play.settle() == (["c1"] if phase == "Running" else [])


def test_a_failed_init_container_fails_a_pod_that_never_restarts() -> None:
    play = Play({}, initContainers=[init("a")], restartPolicy="Never")
    play.settle()

    play.exit("a", 1)

    assert play.settle() == []
    assert play.machine.phase() == "Failed"


def test_crashes_back_off_ever_longer_and_ten_healthy_minutes_forgive_them() -> None:
    play = Play({})
    waited: list[float] = []
    for _ in range(8):
        play.settle()
        play.exit("c1", 1)
        due = play.machine.steps(play.now).due
        assert due is not None
        waited.append(due - play.now)
        play.now = due

    assert waited == [0, 10, 20, 40, 80, 160, 300, 300]
    assert play.of("c1").restarts == 7
    play.settle()
    play.now += 600
    play.exit("c1", 1)
    assert play.settle() == ["c1"]


def test_a_crash_loop_says_how_long_and_what_happened_last() -> None:
    play = Play({})
    play.settle()
    play.exit("c1", 1)
    play.settle()
    play.exit("c1", 2)

    (report,) = play.machine.report().containers

    said = "back-off 10s restarting failed container=c1 pod=web_default(u-1)"
    assert report.state == Waiting(CRASH_LOOP, BEGUN + 10, said)
    assert report.last is not None
    assert report.last.exit_code == 2
    assert (report.restarts, report.container_id) == (1, "id-2")


def test_a_refused_start_is_no_restart_and_is_tried_again() -> None:
    play = Play({})
    container = play.machine.steps(play.now).start
    assert container is not None
    container.begin()
    container.refused("CreateContainerConfigError", 'secret "s" not found', BEGUN + 10)

    assert play.machine.phase() == "Pending"
    assert play.machine.steps(play.now).due == BEGUN + 10
    container.retry(play.now)
    assert play.settle() == ["c1"]
    assert container.restarts == 0


def test_a_container_without_a_command_waits_for_ever() -> None:
    play = Play({})
    container = play.machine.steps(play.now).start
    assert container is not None
    container.begin()
    container.refused("ErrImageNeverPull", "no command", None)

    steps = play.machine.steps(play.now + 1e6)
    assert (steps.start, steps.due) == (None, None)


def test_a_stopped_pod_ends_containers_before_sidecars_and_starts_nothing() -> None:
    play = Play({}, {}, initContainers=[init("s", restartPolicy="Always")])
    play.settle()

    play.machine.stop(play.now + 30)
    assert play.stopping() == ["c1", "c2"]
    play.machine.stop(play.now + 60)
    assert play.machine.stop_deadline(play.now) == BEGUN + 30  # it only ever comes earlier
    play.exit("c1", 143)
    play.exit("c2", 0)
    assert play.stopping() == ["s"]
    assert play.machine.phase() == "Running"
    play.exit("s", 0)

    assert play.settle() == []
    assert play.machine.phase() == "Failed"


def test_a_pod_that_never_started_can_be_stopped() -> None:
    play = Play({})

    play.machine.stop(play.now)

    assert play.machine.is_over
    assert play.machine.phase() == "Failed"


def test_a_pod_has_its_time_and_no_more() -> None:
    play = Play({}, activeDeadlineSeconds=60)
    play.settle()
    assert play.machine.steps(play.now).due == BEGUN + 60

    play.now = BEGUN + 60
    assert play.stopping() == ["c1"]
    play.exit("c1", 0)

    report = play.machine.report()
    assert (report.phase, report.reason) == ("Failed", "DeadlineExceeded")
    assert report.message == "Pod was active on the node longer than the specified deadline"


@pytest.mark.parametrize("policy", ["Always", "Never"])
def test_a_container_with_another_image_is_replaced_whatever_its_policy(policy: str) -> None:
    play = Play({}, restartPolicy=policy)
    play.settle()
    other = pod_spec({"image": "other"}, restartPolicy=policy).containers[0]

    assert not play.of("c1").redefine(play.of("c1").spec)
    assert play.of("c1").redefine(other)
    play.exit("c1", 143)

    assert play.settle() == ["c1"]
    assert play.machine.report().containers[0].image == "other"
    play.exit("c1", 0)
    assert play.machine.phase() == ("Succeeded" if policy == "Never" else "Running")


@pytest.mark.parametrize(("code", "again"), [(42, ["c1"]), (1, [])])
def test_a_container_has_rules_of_its_own_for_exit_codes(code: int, again: list[str]) -> None:
    rule = {"action": "Restart", "exitCodes": {"operator": "In", "values": [42]}}
    play = Play({"restartPolicy": "Never", "restartPolicyRules": [rule]}, {})
    play.settle()

    play.exit("c1", code)

    assert play.settle() == again
    assert play.machine.phase() == "Running"


def test_a_rule_ends_all_containers_at_once_and_starts_them_anew_in_order() -> None:
    rule = {
        "action": "RestartAllContainers",
        "exitCodes": {"operator": "In", "values": [42]},
    }
    cause = {"restartPolicy": "Never", "restartPolicyRules": [rule]}
    play = Play(cause, {}, initContainers=[init("a")], restartPolicy="Never")
    play.settle()
    play.exit("a")
    play.settle()

    play.exit("c1", 42)
    steps = play.machine.steps(play.now)
    assert (play.stopping(), steps.is_abrupt, steps.start) == (["c2"], True, None)
    assert play.machine.report().is_restarting_all
    play.exit("c2", 137)

    assert play.machine.phase() != "Failed"
    assert play.settle() == ["a"]
    assert not play.machine.report().is_restarting_all
    play.exit("a")
    assert play.settle() == ["c1", "c2"]
    assert [c.restarts for c in play.machine.all()] == [1, 1, 1]
    play.exit("c1", 0)
    play.exit("c2", 0)
    assert play.machine.phase() == "Succeeded"


def test_all_containers_wait_for_the_back_off_of_the_one_that_ended() -> None:
    rule = {
        "action": "RestartAllContainers",
        "exitCodes": {"operator": "NotIn", "values": [0]},
    }
    play = Play({"restartPolicy": "Never", "restartPolicyRules": [rule]}, {})
    for _ in range(2):
        play.settle()
        play.exit("c1", 1)
        play.exit("c2", 137)

    assert play.settle() == []
    play.now = BEGUN + 10
    assert play.settle() == ["c1", "c2"]


def test_the_image_that_is_reported_is_that_of_what_runs() -> None:
    play = Play({"image": "old"})
    play.settle()
    changed = pod_spec({"image": "new"})

    play.machine.update(changed)
    play.of("c1").redefine(changed.containers[0])
    assert play.machine.report().containers[0].image == "old"

    play.exit("c1", 143)
    play.settle()
    assert play.machine.report().containers[0].image == "new"


def test_containers_are_refused_users_that_the_kubelet_is_not() -> None:
    pod = pod_spec(
        {"securityContext": {"runAsUser": 5}}, {}, {"securityContext": {"runAsNonRoot": True}}
    )

    assert [bool(user_refusal(pod, container, 5)) for container in pod.containers] == [False] * 3
    said = [user_refusal(pod, container, 0) for container in pod.containers]
    assert said == [
        "the process runtime runs containers as user 0, not as 5",
        "",
        "container has runAsNonRoot and the process runtime runs as root",
    ]


def restarted(play: Play, now: float, **spec: Any) -> PodStateMachine:
    """As a kubelet that begins anew finds the pod: through its status."""
    described = pod_object({}, **spec)
    status = pod_status(
        described, play.machine.report(), play.now, addresses=PodAddresses("2", "1"), allocated={}
    )
    return restore(read_pod(pod_object({}, status=status, **spec)), now)


def test_after_a_kubelet_died_what_ran_is_started_again_at_once() -> None:
    play = Play({})
    play.settle()

    machine = restarted(play, BEGUN + 9)

    (container,) = machine.containers
    assert isinstance(container.state, Terminated)
    assert (container.state.exit_code, container.state.reason) == (137, "ContainerStatusUnknown")
    assert machine.phase() == "Running"
    assert machine.steps(BEGUN + 9).start is container
    assert container.next_restart == 1


def test_after_a_kubelet_died_what_runs_once_has_failed() -> None:
    play = Play({}, restartPolicy="Never")
    play.settle()

    assert restarted(play, BEGUN + 9, restartPolicy="Never").phase() == "Failed"


def test_after_a_kubelet_died_a_crash_loop_goes_on_where_it_was() -> None:
    play = Play({})
    for _ in range(3):
        play.settle()
        play.exit("c1", 1)
        play.now += 300

    machine = restarted(play, play.now)

    (container,) = machine.containers
    assert container.last is not None
    assert container.state == Waiting(CRASH_LOOP, container.last.finished_at + 20)
    assert container.restarts == play.of("c1").restarts


def test_after_a_kubelet_died_init_containers_are_not_run_again() -> None:
    play = Play({}, initContainers=[init("a")])
    play.settle()
    play.exit("a")
    play.settle()

    machine = restarted(play, BEGUN + 9, initContainers=[init("a")])

    started = machine.steps(BEGUN + 9).start
    assert started is not None
    assert started.spec.name == "c1"


moves = st.lists(
    st.tuples(st.sampled_from(["exit", "fail", "time", "stop"]), st.integers(0, 3)), max_size=30
)


@settings(max_examples=150, deadline=None)
@given(st.sampled_from(["Always", "OnFailure", "Never"]), moves)
def test_whatever_happens_a_pod_that_is_over_stays_so(
    policy: str, happened: list[tuple[str, int]]
) -> None:
    sidecar = init("s", restartPolicy="Always")
    play = Play({}, {}, initContainers=[init("a"), sidecar], restartPolicy=policy)
    ended = ""
    for what, which in happened:
        play.settle()
        running = [c for c in play.machine.all() if isinstance(c.state, Running)]
        match what:
            case "time":
                play.now += 10.0**which
            case "stop":
                play.machine.stop(play.now + 30)
            case _ if which < len(running):
                play.exit(running[which].spec.name, 0 if what == "exit" else 1)
        phase = play.machine.phase()
        assert not ended or phase == ended, "a terminal phase never changes"
        if phase in TERMINAL:
            ended = phase
            assert not any(isinstance(c.state, Running) for c in play.machine.all())
        has_begun = any(c.has_run for c in play.machine.containers)
        assert play.of("a").has_succeeded or not has_begun, "nothing passes an init container"


def test_an_ephemeral_container_starts_at_once_runs_once_and_ends_with_its_pod() -> None:
    play = Play({}, initContainers=[init("a")])
    assert play.settle() == ["a"]
    debug = {"name": "debug", "image": "i", "command": ["sh"]}

    changed = pod_spec({}, initContainers=[init("a")], ephemeralContainers=[debug])
    play.machine.update(changed)
    assert play.settle() == ["debug"]
    play.exit("debug", 1)
    assert play.settle() == []
    play.exit("a")
    assert play.settle() == ["c1"]

    (reported,) = play.machine.report().ephemeral
    assert (reported.name, reported.restarts) == ("debug", 0)
    assert play.machine.phase() == "Running"


def test_an_ephemeral_container_that_runs_is_stopped_with_its_pod() -> None:
    play = Play({}, ephemeralContainers=[{"name": "debug", "image": "i", "command": ["sh"]}])
    assert sorted(play.settle()) == ["c1", "debug"]

    play.machine.stop(play.now + 1)

    assert sorted(play.stopping()) == ["c1", "debug"]


@pytest.mark.parametrize(
    ("policy", "is_restarted"),
    [("NotRequired", False), ("RestartContainer", True)],
    ids=["in place", "anew"],
)
def test_a_resize_restarts_a_container_whose_policy_says_so(
    policy: str, is_restarted: bool
) -> None:
    def sized(memory: str) -> dict[str, Any]:
        policies = [{"resourceName": "memory", "restartPolicy": policy}]
        return {"resizePolicy": policies, "resources": {"limits": {"memory": memory}}}

    play = Play(sized("1Gi"))
    play.settle()

    (resized,) = pod_spec(sized("2Gi")).containers

    assert play.of("c1").redefine(resized) is is_restarted
