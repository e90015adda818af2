"""A pod's status as its kubelet reports it. Pure.

Owned here: phase, addresses, container statuses and five conditions; conditions of others stay,
because the status is written as a strategic patch, which joins conditions by type.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, assert_never

from proreus.api.object import KubeObject
from proreus.api.values.timestamp import format_time
from proreus.cluster.kubelet.runtimes.container import (
    CRASH_LOOP,
    Container,
    ContainerState,
    Running,
    Terminated,
    Waiting,
)
from proreus.cluster.kubelet.runtimes.simulated import SUCCEEDED, TERMINAL, SimulatedPod

Status = dict[str, Any]


@dataclass(frozen=True, slots=True)
class _Verdict:
    type: str
    holds: bool
    reason: str | None = None
    message: str | None = None


def pod_status(
    pod: KubeObject, simulated: SimulatedPod, now: float, *, host_ip: str, pod_ip: str
) -> Status:
    """Fields that are None are to be removed."""
    phase, known = simulated.phase, pod.get("status") or {}
    # Nothing of a pod that is over is ready, however it stood before.
    moment = float("-inf") if phase in TERMINAL else now
    status: Status = {
        "phase": phase,
        "hostIP": host_ip,
        "hostIPs": [{"ip": host_ip}],
        "podIP": pod_ip,
        "podIPs": [{"ip": pod_ip}],
        "startTime": known.get("startTime") or format_time(simulated.begun),
        "conditions": _conditions(pod, simulated, phase, moment, now),
        "containerStatuses": [_container(pod, c, moment) for c in simulated.containers],
    }
    if simulated.init:
        status["initContainerStatuses"] = [_container(pod, c, moment) for c in simulated.init]
    return status


def is_news(pod: KubeObject, status: Status) -> bool:
    """Whether the pod's stored status says something else."""
    known = pod.get("status") or {}
    for field, value in status.items():
        if field != "conditions" and known.get(field) != value:
            return True
    conditions = {c["type"]: c for c in known.get("conditions") or ()}
    return any(
        conditions.get(wanted["type"], {}).get(field) != value
        for wanted in status["conditions"]
        for field, value in wanted.items()
    )


def _conditions(
    pod: KubeObject, simulated: SimulatedPod, phase: str, moment: float, now: float
) -> list[Status]:
    known = {c["type"]: c for c in (pod.get("status") or {}).get("conditions") or ()}
    initialized = _Verdict("Initialized", True)
    if not simulated.is_initialized:
        lacking = _names(c for c in simulated.init if not c.has_succeeded)
        text = f"containers with incomplete status: {lacking}"
        initialized = _Verdict("Initialized", False, "ContainersNotInitialized", text)
    containers = _containers_ready(simulated, phase, moment)
    verdicts = [
        _Verdict("PodReadyToStartContainers", phase not in TERMINAL),
        initialized,
        _ready(pod, containers, known),
        containers,
        _Verdict("PodScheduled", True),
    ]
    return [_condition(verdict, known.get(verdict.type) or {}, now) for verdict in verdicts]


def _containers_ready(simulated: SimulatedPod, phase: str, moment: float) -> _Verdict:
    unready = [c for c in simulated.containers if not c.is_ready(moment)]
    if not unready:
        return _Verdict("ContainersReady", True)
    if phase == SUCCEEDED:
        return _Verdict("ContainersReady", False, "PodCompleted")
    text = f"containers with unready status: {_names(unready)}"
    return _Verdict("ContainersReady", False, "ContainersNotReady", text)


def _ready(pod: KubeObject, containers: _Verdict, known: Mapping[str, Any]) -> _Verdict:
    if not containers.holds:
        return _Verdict("Ready", False, containers.reason, containers.message)
    for gate in pod.spec.readinessGates or ():
        if known.get(gate.conditionType, {}).get("status") != "True":
            text = f'the status of pod readiness gate "{gate.conditionType}" is not "True"'
            return _Verdict("Ready", False, "ReadinessGatesNotReady", text)
    return _Verdict("Ready", True)


def _condition(verdict: _Verdict, known: Mapping[str, Any], now: float) -> Status:
    status = "True" if verdict.holds else "False"
    changed = known.get("status") != status
    return {
        "type": verdict.type,
        "status": status,
        "reason": verdict.reason,
        "message": verdict.message,
        "lastTransitionTime": format_time(now) if changed else known.get("lastTransitionTime"),
    }


def _container(pod: KubeObject, container: Container, moment: float) -> Status:
    plan, identity = container.plan, f"simulated://{pod.uid}-{container.plan.name}"
    has_run = container.last is not None or not isinstance(container.state, Waiting)
    is_ready = container.is_ready(moment) or (
        container.has_succeeded
        and container.plan.restart_policy != "Always"
        and _is_init(pod, plan.name)
    )
    return {
        "name": plan.name,
        "image": plan.image,
        "imageID": f"simulated://{plan.image}" if has_run else "",
        **({"containerID": f"{identity}-{container.restarts}"} if has_run else {}),
        "ready": is_ready,
        "started": isinstance(container.state, Running),
        "restartCount": container.restarts,
        "state": _state(pod, container, container.state),
        "lastState": _state(pod, container, container.last) if container.last else {},
    }


def _is_init(pod: KubeObject, name: str) -> bool:
    return any(c["name"] == name for c in pod.spec.initContainers or ())


def _state(pod: KubeObject, container: Container, state: ContainerState) -> Status:
    match state:
        case Waiting(reason):
            said = {"reason": reason}
            if reason == CRASH_LOOP:
                owner = f"{pod.name}_{pod.namespace}({pod.uid})"
                said["message"] = (
                    f"back-off {_minutes(container.backoff_s)} restarting failed "
                    f"container={container.plan.name} pod={owner}"
                )
            return {"waiting": said}
        case Running(started_at):
            return {"running": {"startedAt": format_time(started_at)}}
        case Terminated(exit_code, started_at, finished_at):
            return {
                "terminated": {
                    "exitCode": exit_code,
                    "reason": "Error" if exit_code else "Completed",
                    "startedAt": format_time(started_at),
                    "finishedAt": format_time(finished_at),
                    "containerID": f"simulated://{pod.uid}-{container.plan.name}",
                }
            }
        case unknown:
            assert_never(unknown)


def _minutes(seconds: float) -> str:
    minutes, rest = divmod(int(seconds), 60)
    return f"{minutes}m{rest}s" if minutes else f"{rest}s"


def _names(containers: Iterable[Container]) -> str:
    return f"[{' '.join(c.plan.name for c in containers)}]"
