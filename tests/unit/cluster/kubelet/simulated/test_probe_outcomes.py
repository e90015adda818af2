"""Exec probes of simulated containers are carried out, if their commands are understood."""

from __future__ import annotations

from typing import Any

import pytest

from proreus.api.object import KubeObject
from proreus.cluster.kubelet.runtimes.simulated.plan import ContainerPlan, read_plan
from proreus.cluster.kubelet.runtimes.simulated.state import SimulatedPod

HEALTH = "echo ok > /tmp/health; sleep 10; rm -rf /tmp/health; sleep 600"


def probe(*command: str, delay: int = 0, **more: Any) -> dict[str, Any]:
    return {"exec": {"command": list(command)}, "initialDelaySeconds": delay, **more}


def pod(script: str = "", **container: Any) -> KubeObject:
    content = {"name": "c", "image": "i", **container}
    if script:
        content["command"] = ["sh", "-c", script]
    metadata = {"name": "p", "namespace": "d", "uid": "u"}
    return KubeObject.from_dict({"metadata": metadata, "spec": {"containers": [content]}})


def plan(script: str = "", **container: Any) -> ContainerPlan:
    return read_plan(pod(script, **container)).containers[0]


@pytest.mark.parametrize(
    ("script", "command", "ready_s"),
    [
        ("", ["/bin/false"], None),
        ("", ["/bin/true"], 5),
        ("", ["sh", "-c", "exit 1"], None),
        ("", ["cat", "/tmp/health"], 5),  # nobody knows
        ("", ["nginx", "-t"], 5),
        ("sleep 17; touch /tmp/up; sleep 600", ["cat", "/tmp/up"], 5),
        ("rm -f /tmp/up; sleep 17; touch /tmp/up; sleep 600", ["cat", "/tmp/up"], 25),
        (HEALTH, ["cat", "/tmp/health"], 5),  # it would not stay so
    ],
)
def test_a_container_is_ready_once_its_probe_succeeds(
    script: str, command: list[str], ready_s: float | None
) -> None:
    assert plan(script, readinessProbe=probe(*command, delay=5)).ready_after_s == ready_s


@pytest.mark.parametrize(
    ("script", "command", "thresholds", "end"),
    [
        (HEALTH, ["cat", "/tmp/health"], {"initialDelaySeconds": 5, "failureThreshold": 1}, 15),
        (HEALTH, ["cat", "/tmp/health"], {"periodSeconds": 1, "failureThreshold": 3}, 12),
        (HEALTH, ["test", "-e", "/tmp/health"], {"failureThreshold": 99}, None),
        ("echo ok > /tmp/health; sleep 600", ["cat", "/tmp/health"], {}, None),
        ("", ["/bin/false"], {"failureThreshold": 2}, 10),
        ("", ["sleep", "10"], {"timeoutSeconds": 1, "failureThreshold": 1}, 0),
        ("", ["sleep", "10"], {"timeoutSeconds": 11, "failureThreshold": 1}, None),
        ("", ["nginx", "-t"], {}, None),
    ],
)
def test_a_container_whose_liveness_probe_fails_is_ended(
    script: str, command: list[str], thresholds: dict[str, int], end: float | None
) -> None:
    found = plan(script, livenessProbe=probe(*command, **thresholds))

    by_itself = 610 if script == HEALTH else 600 if script else None
    assert found.exit_after_s == (by_itself if end is None else end)
    assert found.exit_code == (0 if end is None else 143)


def test_a_container_that_fails_its_probe_is_restarted() -> None:
    described = pod(HEALTH, livenessProbe=probe("cat", "/tmp/health", periodSeconds=1))
    simulated = SimulatedPod(read_plan(described), 0.0)

    simulated.advance(13.0)

    assert (simulated.phase, simulated.containers[0].restarts) == ("Running", 1)


@pytest.mark.parametrize(
    ("script", "policy", "message"),
    [
        ("echo -n OK > /dev/own; true", "FallbackToLogsOnError", "OK"),
        ("echo said; echo -n WHY > /dev/own; false", "FallbackToLogsOnError", "WHY"),
        ("echo said; false", "FallbackToLogsOnError", "said\n"),
        ("echo said; true", "FallbackToLogsOnError", ""),
        ("echo said; false", "File", ""),
        ("echo > /dev/null; echo elsewhere > /dev/termination-log", "File", ""),
    ],
)
def test_a_container_says_how_it_ended(script: str, policy: str, message: str) -> None:
    described = pod(script, terminationMessagePath="/dev/own", terminationMessagePolicy=policy)
    simulated = SimulatedPod(read_plan(described), 0.0)

    simulated.advance(0.0)

    ended = simulated.containers[0].last
    assert ended is not None
    assert ended.message == message


@pytest.mark.parametrize(
    ("script", "probes", "failures"),
    [
        ("", {"readinessProbe": probe("/bin/false", delay=5)}, [5, 15, 25]),
        ("", {"readinessProbe": probe("/bin/true")}, []),
        ("", {"readinessProbe": probe("nginx", "-t")}, []),  # nobody knows
        ("", {"livenessProbe": probe("/bin/false", failureThreshold=2)}, [0, 10]),
        (HEALTH, {"livenessProbe": probe("cat", "/tmp/health", periodSeconds=1)}, [10, 11, 12]),
        (
            "rm -f /tmp/up; sleep 17; touch /tmp/up; sleep 600",
            {"readinessProbe": probe("cat", "/tmp/up")},
            [0, 10],
        ),
    ],
)
def test_failures_of_probes_are_known_until_they_have_their_effect(
    script: str, probes: dict[str, Any], failures: list[float]
) -> None:
    found = plan(script, **probes).failed_probes

    assert [one.at_s for one in found] == failures
    kills = bool(failures) and "livenessProbe" in probes
    assert [one.kills for one in found] == [False] * (len(found) - 1) + [kills] * bool(found)
