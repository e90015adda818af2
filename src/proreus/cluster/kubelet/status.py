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
from proreus.cluster.kubelet.runtimes.states import (
    SUCCEEDED,
    TERMINAL,
    ContainerReport,
    ContainerState,
    PodReport,
    Running,
    Terminated,
    Waiting,
)

Status = dict[str, Any]


@dataclass(frozen=True, slots=True)
class _Verdict:
    type: str
    holds: bool
    reason: str | None = None
    message: str | None = None


def pod_status(
    pod: KubeObject, report: PodReport, now: float, *, host_ip: str, pod_ip: str
) -> Status:
    """Fields that are None are to be removed."""
    known = pod.get("status") or {}
    status: Status = {
        "phase": report.phase,
        "hostIP": host_ip,
        "hostIPs": [{"ip": host_ip}],
        "podIP": pod_ip,
        "podIPs": [{"ip": pod_ip}, *_former_addresses(known, pod_ip)],
        "startTime": known.get("startTime") or format_time(report.begun),
        "conditions": _conditions(pod, report, now),
        "containerStatuses": [_container(c) for c in report.containers],
    }
    if report.init:
        status["initContainerStatuses"] = [_container(c) for c in report.init]
    if report.reason:
        status |= {"reason": report.reason, "message": report.message}
    return status


def _former_addresses(known: Mapping[str, Any], pod_ip: str) -> list[Status]:
    """To be removed, which a strategic patch does only if told so: it joins these lists."""
    former = [one["ip"] for one in known.get("podIPs") or () if one["ip"] != pod_ip]
    return [{"$patch": "delete", "ip": ip} for ip in former]


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


def _conditions(pod: KubeObject, report: PodReport, now: float) -> list[Status]:
    known = {c["type"]: c for c in (pod.get("status") or {}).get("conditions") or ()}
    initialized = _Verdict("Initialized", True)
    if not report.is_initialized:
        lacking = _names(c for c in report.init if not c.lets_pass)
        text = f"containers with incomplete status: {lacking}"
        initialized = _Verdict("Initialized", False, "ContainersNotInitialized", text)
    containers = _containers_ready(report)
    verdicts = [
        _Verdict("PodReadyToStartContainers", report.phase not in TERMINAL),
        initialized,
        _ready(pod, containers, known),
        containers,
        _Verdict("PodScheduled", True),
    ]
    return [_condition(verdict, known.get(verdict.type) or {}, now) for verdict in verdicts]


def _containers_ready(report: PodReport) -> _Verdict:
    unready = [c for c in report.containers if not c.is_ready]
    if not unready:
        return _Verdict("ContainersReady", True)
    if report.phase == SUCCEEDED:
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


def _container(container: ContainerReport) -> Status:
    identity = {"containerID": container.container_id} if container.container_id else {}
    return {
        "name": container.name,
        "image": container.image,
        "imageID": container.image_id,
        **identity,
        "ready": container.is_ready,
        "started": container.is_started,
        "restartCount": container.restarts,
        "state": _state(container, container.state),
        "lastState": _state(container, container.last) if container.last else {},
    }


def _state(container: ContainerReport, state: ContainerState) -> Status:
    match state:
        case Waiting(reason, _, message):
            said = {"reason": reason, "message": message} if message else {"reason": reason}
            return {"waiting": said}
        case Running(started_at):
            return {"running": {"startedAt": format_time(started_at)}}
        case Terminated():
            ended = {
                "exitCode": state.exit_code,
                "reason": state.reason or ("Error" if state.exit_code else "Completed"),
                "startedAt": format_time(state.started_at),
                "finishedAt": format_time(state.finished_at),
                "containerID": state.container_id or container.container_id,
            }
            return {"terminated": ended | ({"message": state.message} if state.message else {})}
        case unknown:
            assert_never(unknown)


def _names(containers: Iterable[ContainerReport]) -> str:
    return f"[{' '.join(c.name for c in containers)}]"
