"""Columns of pods: the printed status is not stored, it follows from the containers' states."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from proreus.api.json_types import Json
from proreus.server.kinds.parts.cells import NONE, age, is_deleting, name_of, since
from proreus.server.kinds.parts.conditions import is_true
from proreus.server.resource import Cells, Printer

_DONE: dict[str, tuple[Mapping[str, str], ...]] = {
    phase: ({"type": "Completed", "status": "True", "reason": phase, "message": message},)
    for phase, message in (
        ("Succeeded", "The pod has completed successfully."),
        ("Failed", "The pod failed."),
    )
}


class _Summary:
    """What the cells show of the containers of one pod."""

    __slots__ = ("ended_last", "ready", "reason", "restarts", "total")

    def __init__(self, reason: str, total: int) -> None:
        self.reason = reason
        self.total = total
        self.ready = 0
        self.restarts = 0
        self.ended_last = ""

    def restarted(self, status: Json) -> None:
        self.restarts += status.get("restartCount") or 0
        ended = ((status.get("lastState") or {}).get("terminated") or {}).get("finishedAt") or ""
        self.ended_last = max(self.ended_last, ended)


def _fill(pod: Json, now: float) -> Cells:
    spec, status = pod.get("spec") or {}, pod.get("status") or {}
    summary = _summarize(spec, status)
    if is_deleting(pod):
        if status.get("reason") == "NodeLost":
            summary.reason = "Unknown"
        elif status.get("phase") not in _DONE:
            summary.reason = "Terminating"
    restarts = str(summary.restarts)
    if summary.restarts and summary.ended_last:
        restarts = f"{restarts} ({since(summary.ended_last, now)} ago)"
    addresses = status.get("podIPs") or ()
    address = addresses[0].get("ip") if addresses else status.get("podIP")
    return [
        name_of(pod),
        f"{summary.ready}/{summary.total}",
        summary.reason,
        restarts,
        age(pod, now),
        address or NONE,
        spec.get("nodeName") or NONE,
        status.get("nominatedNodeName") or NONE,
        _gates(spec, status),
    ]


def _summarize(spec: Json, status: Json) -> _Summary:
    init_containers = spec.get("initContainers") or ()
    sidecars = {c.get("name") for c in init_containers if c.get("restartPolicy") == "Always"}
    conditions = status.get("conditions") or ()
    summary = _Summary(
        _overall_reason(status, conditions), len(spec.get("containers") or ()) + len(sidecars)
    )
    of_sidecars = _Summary("", 0)
    initializing = _count_init(summary, of_sidecars, sidecars, len(init_containers), status)
    if not initializing or is_true(conditions, "Initialized"):
        summary.restarts, summary.ended_last = of_sidecars.restarts, of_sidecars.ended_last
        _count_main(summary, status.get("containerStatuses") or (), conditions)
    return summary


def _overall_reason(status: Json, conditions: Sequence[Json]) -> str:
    for found in conditions:
        if found.get("type") == "PodScheduled" and found.get("reason") == "SchedulingGated":
            return "SchedulingGated"
    return str(status.get("reason") or status.get("phase") or "")


def _count_init(
    summary: _Summary, of_sidecars: _Summary, sidecars: set[Any], count: int, status: Json
) -> bool:
    """True while an init container has not done its work; sidecars only have to be started."""
    for at, container in enumerate(status.get("initContainerStatuses") or ()):
        is_sidecar = container.get("name") in sidecars
        summary.restarted(container)
        if is_sidecar:
            of_sidecars.restarted(container)
        state = container.get("state") or {}
        ended, waiting = state.get("terminated"), state.get("waiting") or {}
        if ended is not None and not ended.get("exitCode"):
            continue
        if is_sidecar and container.get("started"):
            summary.ready += bool(container.get("ready"))
            continue
        if ended is not None:
            summary.reason = f"Init:{_end(ended)}"
        elif waiting.get("reason") and waiting["reason"] != "PodInitializing":
            summary.reason = f"Init:{waiting['reason']}"
        else:
            summary.reason = f"Init:{at}/{count}"
        return True
    return False


def _count_main(summary: _Summary, statuses: Sequence[Json], conditions: Sequence[Json]) -> None:
    running, failure = False, ""
    for container in reversed(statuses):
        summary.restarted(container)
        state = container.get("state") or {}
        waiting, ended = state.get("waiting") or {}, state.get("terminated")
        if waiting.get("reason"):
            summary.reason = waiting["reason"]
        elif ended is not None:
            summary.reason = _end(ended)
            if ended.get("exitCode"):
                failure = summary.reason
        elif container.get("ready") and state.get("running") is not None:
            running = True
            summary.ready += 1
    if summary.reason == "Completed":
        # One container is done, another still serves or has failed: the pod is not completed.
        if running and is_true(conditions, "Ready"):
            summary.reason = "Running"
        else:
            summary.reason = failure or ("NotReady" if running else "Completed")


def _end(ended: Json) -> str:
    if ended.get("reason"):
        return str(ended["reason"])
    if ended.get("signal"):
        return f"Signal:{ended['signal']}"
    return f"ExitCode:{ended.get('exitCode') or 0}"


def _gates(spec: Json, status: Json) -> str:
    gates = spec.get("readinessGates") or ()
    if not gates:
        return NONE
    conditions = status.get("conditions") or ()
    passed = sum(is_true(conditions, gate.get("conditionType", "")) for gate in gates)
    return f"{passed}/{len(gates)}"


def _row_conditions(pod: Json) -> Sequence[Mapping[str, str]]:
    return _DONE.get((pod.get("status") or {}).get("phase") or "", ())


PRINTER = Printer.of(
    _fill, "Name", "Ready", "Status", "Restarts", "Age", "IP*", "Node*", "Nominated Node*",
    "Readiness Gates*", conditions=_row_conditions,
)  # fmt: skip
