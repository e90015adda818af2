"""Restores a pod's state machine from its status, after a restart of the kubelet. Pure.

Processes do not outlive their kubelet: what the status calls running has ended by now, through no
fault of its own, and is started again at once if its policy says so.
"""

from __future__ import annotations

from collections.abc import Sequence

from proreus.api.json_types import Json
from proreus.api.values.timestamp import parse_time
from proreus.cluster.kubelet.runtimes.clock_skew import without_future_times
from proreus.cluster.kubelet.runtimes.pod_spec.pod_spec import PodSpec
from proreus.cluster.kubelet.runtimes.process.state_machine import (
    ContainerStateMachine,
    PodStateMachine,
)
from proreus.cluster.kubelet.runtimes.states import CRASH_LOOP, KILLED, Terminated

LOST = "ContainerStatusUnknown"
_LOST_TEXT = "The container ended together with its kubelet"


def restore(pod: PodSpec, now: float) -> PodStateMachine:
    status = without_future_times(pod.content.get("status") or {}, now)
    begun = parse_time(status["startTime"]) if status.get("startTime") else now
    machine = PodStateMachine(pod, begun)
    _restore(machine.init, status.get("initContainerStatuses") or (), now)
    _restore(machine.containers, status.get("containerStatuses") or (), now)
    _restore(machine.ephemeral, status.get("ephemeralContainerStatuses") or (), now)
    return machine


def _restore(
    machines: Sequence[ContainerStateMachine], statuses: Sequence[Json], now: float
) -> None:
    known = {status["name"]: status for status in statuses}
    for machine in machines:
        status = known.get(machine.spec.name)
        if status is not None and status.get("containerID"):
            _restore_one(machine, status, now)


def _restore_one(machine: ContainerStateMachine, status: Json, now: float) -> None:
    state = status.get("state") or {}
    machine.container_id = status["containerID"]
    machine.restarts = status.get("restartCount") or 0
    machine.has_started = bool(status.get("started") or machine.restarts)
    machine.last = _terminated((status.get("lastState") or {}).get("terminated"))
    if running := state.get("running"):
        started_at = parse_time(running["startedAt"]) if running.get("startedAt") else now
        machine.state = Terminated(KILLED, started_at, now, LOST, _LOST_TEXT, machine.container_id)
        return
    ended = _terminated(state.get("terminated"))
    if ended is None and (state.get("waiting") or {}).get("reason") == CRASH_LOOP:
        ended = machine.last
    if ended is not None:
        machine.crashes = machine.restarts + 1
        machine.state = ended
        machine.back_off()
    elif machine.last is not None:
        machine.state = machine.last


def _terminated(ended: Json | None) -> Terminated | None:
    if not ended or not ended.get("finishedAt"):
        return None
    return Terminated(
        exit_code=ended.get("exitCode") or 0,
        started_at=parse_time(ended.get("startedAt") or ended["finishedAt"]),
        finished_at=parse_time(ended["finishedAt"]),
        reason=ended.get("reason") or "",
        message=ended.get("message") or "",
        container_id=ended.get("containerID") or "",
    )
