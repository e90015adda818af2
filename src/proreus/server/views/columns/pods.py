"""Pods: the status people know is not stored anywhere, it is told from the containers' states."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from proreus.server.views.columns.cells import (
    NONE,
    Object,
    age,
    container_cells,
    is_deleting,
    name_of,
    pairs,
    since,
)
from proreus.server.views.columns.printer import Cells, Printer, columns

_DONE: dict[str, tuple[Mapping[str, str], ...]] = {
    phase: ({"type": "Completed", "status": "True", "reason": phase, "message": message},)
    for phase, message in (
        ("Succeeded", "The pod has completed successfully."),
        ("Failed", "The pod failed."),
    )
}


class _Told:
    """What walking over the containers of one pod finds out."""

    __slots__ = ("ended_last", "ready", "reason", "restarts", "total")

    def __init__(self, reason: str, total: int) -> None:
        self.reason = reason
        self.total = total
        self.ready = 0
        self.restarts = 0
        self.ended_last = ""

    def restarted(self, status: Object) -> None:
        self.restarts += status.get("restartCount") or 0
        ended = ((status.get("lastState") or {}).get("terminated") or {}).get("finishedAt") or ""
        self.ended_last = max(self.ended_last, ended)


def _fill_pod(pod: Object, now: float) -> Cells:
    spec, status = pod.get("spec") or {}, pod.get("status") or {}
    told = _tell(spec, status)
    if is_deleting(pod):
        if status.get("reason") == "NodeLost":
            told.reason = "Unknown"
        elif status.get("phase") not in _DONE:
            told.reason = "Terminating"
    restarts = str(told.restarts)
    if told.restarts and told.ended_last:
        restarts = f"{restarts} ({since(told.ended_last, now)} ago)"
    addresses = status.get("podIPs") or ()
    address = addresses[0].get("ip") if addresses else status.get("podIP")
    return [
        name_of(pod),
        f"{told.ready}/{told.total}",
        told.reason,
        restarts,
        age(pod, now),
        address or NONE,
        spec.get("nodeName") or NONE,
        status.get("nominatedNodeName") or NONE,
        _gates(spec, status),
    ]


def _tell(spec: Object, status: Object) -> _Told:
    init_containers = spec.get("initContainers") or ()
    sidecars = {c.get("name") for c in init_containers if c.get("restartPolicy") == "Always"}
    conditions = status.get("conditions") or ()
    told = _Told(
        _overall_reason(status, conditions), len(spec.get("containers") or ()) + len(sidecars)
    )
    of_sidecars = _Told("", 0)
    initializing = _tell_init(told, of_sidecars, sidecars, len(init_containers), status)
    if not initializing or _is_true(conditions, "Initialized"):
        told.restarts, told.ended_last = of_sidecars.restarts, of_sidecars.ended_last
        _tell_main(told, status.get("containerStatuses") or (), conditions)
    return told


def _overall_reason(status: Object, conditions: Sequence[Object]) -> str:
    for found in conditions:
        if found.get("type") == "PodScheduled" and found.get("reason") == "SchedulingGated":
            return "SchedulingGated"
    return str(status.get("reason") or status.get("phase") or "")


def _tell_init(
    told: _Told, of_sidecars: _Told, sidecars: set[Any], count: int, status: Object
) -> bool:
    """True while an init container has not done its work; sidecars only have to be started."""
    for at, container in enumerate(status.get("initContainerStatuses") or ()):
        is_sidecar = container.get("name") in sidecars
        told.restarted(container)
        if is_sidecar:
            of_sidecars.restarted(container)
        state = container.get("state") or {}
        ended, waiting = state.get("terminated"), state.get("waiting") or {}
        if ended is not None and not ended.get("exitCode"):
            continue
        if is_sidecar and container.get("started"):
            told.ready += bool(container.get("ready"))
            continue
        if ended is not None:
            told.reason = f"Init:{_end(ended)}"
        elif waiting.get("reason") and waiting["reason"] != "PodInitializing":
            told.reason = f"Init:{waiting['reason']}"
        else:
            told.reason = f"Init:{at}/{count}"
        return True
    return False


def _tell_main(told: _Told, statuses: Sequence[Object], conditions: Sequence[Object]) -> None:
    running = False
    for container in reversed(statuses):
        told.restarted(container)
        state = container.get("state") or {}
        waiting, ended = state.get("waiting") or {}, state.get("terminated")
        if waiting.get("reason"):
            told.reason = waiting["reason"]
        elif ended is not None:
            told.reason = _end(ended)
        elif container.get("ready") and state.get("running") is not None:
            running = True
            told.ready += 1
    if told.reason == "Completed" and running:
        # One container is done, another still serves: the pod is not completed.
        told.reason = "Running" if _is_true(conditions, "Ready") else "NotReady"


def _end(ended: Object) -> str:
    if ended.get("reason"):
        return str(ended["reason"])
    if ended.get("signal"):
        return f"Signal:{ended['signal']}"
    return f"ExitCode:{ended.get('exitCode') or 0}"


def _is_true(conditions: Sequence[Object], kind: str) -> bool:
    return any(c.get("type") == kind and c.get("status") == "True" for c in conditions)


def _gates(spec: Object, status: Object) -> str:
    gates = spec.get("readinessGates") or ()
    if not gates:
        return NONE
    conditions = status.get("conditions") or ()
    passed = sum(_is_true(conditions, gate.get("conditionType", "")) for gate in gates)
    return f"{passed}/{len(gates)}"


def _pod_conditions(pod: Object) -> Sequence[Mapping[str, str]]:
    return _DONE.get((pod.get("status") or {}).get("phase") or "", ())


def _fill_template(obj: Object, _: float) -> Cells:
    template = obj.get("template") or {}
    labels = (template.get("metadata") or {}).get("labels")
    return [name_of(obj), *container_cells(template.get("spec") or {}), pairs(labels)]


PRINTERS: dict[tuple[str, str], Printer] = {
    ("", "Pod"): Printer(
        columns(
            "Name", "Ready", "Status", "Restarts", "Age", "IP*", "Node*", "Nominated Node*",
            "Readiness Gates*",
        ),
        _fill_pod,
        _pod_conditions,
    ),
    ("", "PodTemplate"): Printer(
        columns("Name", "Containers", "Images", "Pod Labels"), _fill_template
    ),
}  # fmt: skip
