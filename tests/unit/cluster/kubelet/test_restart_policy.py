"""Which containers are restarted after they have ended."""

from __future__ import annotations

from typing import Any

import pytest

from proreus.api.object import KubeObject
from proreus.cluster.kubelet.runtimes.restart_policy import (
    restart_policy,
    restart_rules,
    restarts_all,
    runs_again,
)
from proreus.cluster.kubelet.runtimes.runtime import PodAddresses
from proreus.cluster.kubelet.runtimes.simulated.plan import read_plan
from proreus.cluster.kubelet.runtimes.simulated.pod import report
from proreus.cluster.kubelet.runtimes.simulated.state import SimulatedPod
from proreus.cluster.kubelet.runtimes.states import Running, Terminated
from proreus.cluster.kubelet.status import pod_status


def rule(operator: str, *codes: int) -> dict[str, Any]:
    return {"action": "Restart", "exitCodes": {"operator": operator, "values": list(codes)}}


@pytest.mark.parametrize(
    ("own", "of_pod", "is_init", "expected"),
    [
        (None, "Always", False, "Always"),
        (None, "Never", False, "Never"),
        (None, "Always", True, "OnFailure"),
        ("Always", "Never", True, "Always"),
        ("Never", "Always", False, "Never"),
        ("OnFailure", "Always", False, "OnFailure"),
        ("Always", "Never", False, "Always"),
        ("Never", "Always", True, "Never"),
    ],
)
def test_a_container_s_own_policy_counts_before_its_pod_s(
    own: str | None, of_pod: str, is_init: bool, expected: str
) -> None:
    content = {"restartPolicy": own} if own else {}

    assert restart_policy(content, of_pod, is_init=is_init) == expected


@pytest.mark.parametrize(
    ("policy", "rules", "restarted"),
    [
        ("Never", [], []),
        ("OnFailure", [], [1, 42]),
        ("Never", [rule("In", 42)], [42]),
        ("Never", [rule("NotIn", 0, 1)], [42]),
        ("Never", [rule("In", 7), rule("In", 0, 1)], [0, 1]),
        ("OnFailure", [rule("In", 0)], [0, 1, 42]),
    ],
)
def test_rules_restart_what_the_policy_would_not(
    policy: str, rules: list[dict[str, Any]], restarted: list[int]
) -> None:
    said = restart_rules({"restartPolicyRules": rules})

    assert restarted == [
        code for code in (0, 1, 42) if runs_again(policy, Terminated(code, 0.0, 1.0), said)
    ]


@pytest.mark.parametrize(("code", "phase", "restarts"), [(42, "Running", 1), (0, "Succeeded", 0)])
def test_a_pod_ends_with_its_containers_by_their_own_policies(
    code: int, phase: str, restarts: int
) -> None:
    own = {"restartPolicy": "Never", "restartPolicyRules": [rule("In", 42)]}
    container = {"name": "c", "image": "i", "command": ["sh", "-c", f"sleep 5; exit {code}"], **own}
    spec = {"restartPolicy": "Always", "containers": [container]}
    metadata = {"name": "p", "namespace": "d", "uid": "u"}
    plan = read_plan(KubeObject.from_dict({"metadata": metadata, "spec": spec}))
    simulated = SimulatedPod(plan, 0.0)

    simulated.advance(6.0)

    assert (simulated.phase, simulated.containers[0].restarts) == (phase, restarts)


ALL = {"action": "RestartAllContainers", "exitCodes": {"operator": "In", "values": [42]}}


@pytest.mark.parametrize(
    ("rules", "code", "expected"),
    [
        ([ALL], 42, True),
        ([ALL], 1, False),
        ([rule("In", 42), ALL], 42, False),
        ([rule("In", 1), ALL], 42, True),
        ([], 42, False),
    ],
)
def test_the_first_rule_for_an_exit_code_says_whether_all_containers_start_anew(
    rules: list[dict[str, Any]], code: int, expected: bool
) -> None:
    assert restarts_all(rules, Terminated(code, 0.0, 1.0)) == expected


def pod_that_starts_anew() -> KubeObject:
    """Its container ``cause`` ends all five seconds after the init container, which takes one."""
    own = {"restartPolicy": "Never", "restartPolicyRules": [ALL]}
    script = {"command": ["sh", "-c", "sleep 5; exit 42"], "name": "cause", "image": "i", **own}
    init = {"name": "first", "image": "i", "command": ["sleep", "1"]}
    sidecar = {"name": "beside", "image": "i", "restartPolicy": "Always"}
    spec = {
        "restartPolicy": "Never",
        "initContainers": [init, sidecar],
        "containers": [script, {"name": "other", "image": "i"}],
    }
    metadata = {"name": "p", "namespace": "d", "uid": "u"}
    return KubeObject.from_dict({"metadata": metadata, "spec": spec})


def test_a_simulated_pod_starts_anew_with_its_init_containers_when_a_rule_says_so() -> None:
    simulated = SimulatedPod(read_plan(pod_that_starts_anew()), 0.0)
    simulated.advance(5.9)
    assert [c.restarts for c in simulated.all()] == [0, 0, 0, 0]

    simulated.advance(6.0)
    waiting = [type(c.state).__name__ for c in simulated.containers]
    simulated.advance(7.0)

    assert waiting == ["Waiting", "Waiting"]  # for the init container
    assert simulated.phase == "Running"
    assert [c.restarts for c in simulated.all()] == [1, 1, 1, 1]
    killed = simulated.containers[1].last
    assert killed is not None
    assert (killed.exit_code, killed.finished_at) == (137, 6.0)
    assert simulated.containers[1].state == Running(7.0)


@pytest.mark.parametrize("at", [6.0, 6.5, 12.0, 15.0, 22.5])
def test_a_kubelet_that_was_restarted_goes_on_with_starting_all_containers_anew(at: float) -> None:
    """The first time at once, at 6; the second time after a back-off, from 12 to 22."""
    described = pod_that_starts_anew()
    plan = read_plan(described)
    undisturbed, before = SimulatedPod(plan, 0.0), SimulatedPod(plan, 0.0)
    for second in range(int(at) + 1):
        before.advance(min(float(second), at))
    before.advance(at)

    addresses = PodAddresses("", "")
    said = report(described, before, at)
    status = pod_status(described, said, at, addresses=addresses, allocated={})
    after = SimulatedPod(plan, at, status)
    for second in range(28):
        undisturbed.advance(float(second))
        if second > at:
            after.advance(float(second))

    assert [c.restarts for c in after.all()] == [c.restarts for c in undisturbed.all()]
    started = [c.state for c in undisturbed.init if c.plan.is_sidecar]
    assert [int(s.started_at) for s in started if isinstance(s, Running)] == [23]
    assert [c.state for c in after.init if c.plan.is_sidecar] == started
