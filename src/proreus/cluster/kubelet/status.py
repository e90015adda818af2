"""A pod's status as its kubelet reports it. Pure.

Owned here: phase, addresses, container statuses and eight conditions. The status is written as a
strategic patch, which merges conditions by type, so that conditions of others stay; lists that have
no other writer are replaced.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import assert_never

import msgspec

from proreus.api.json_types import Json, JsonObject
from proreus.api.object import KubeObject, plain_field
from proreus.api.values.timestamp import format_time
from proreus.cluster.kubelet import resize
from proreus.cluster.kubelet.admission import Rejection
from proreus.cluster.kubelet.resize import ResizeRefusal
from proreus.cluster.kubelet.runtimes import states
from proreus.cluster.kubelet.runtimes.restart_policy import is_sidecar, may_restart_all
from proreus.cluster.kubelet.runtimes.runtime import PodAddresses

_RESTARTING_ALL = "AllContainersRestarting"
_REPLACE = {"$patch": "replace"}
_RESIZE_CONDITIONS = (resize.PENDING, resize.IN_PROGRESS)
_OWN_CONDITIONS = frozenset(
    {
        "PodReadyToStartContainers",
        "Initialized",
        "Ready",
        "ContainersReady",
        "PodScheduled",
        *_RESIZE_CONDITIONS,
        _RESTARTING_ALL,
    }
)


class _ConditionState(msgspec.Struct, frozen=True, gc=False):
    type: str
    holds: bool
    reason: str | None = None
    message: str | None = None


def pod_status(
    pod: KubeObject,
    report: states.PodReport,
    now: float,
    *,
    addresses: PodAddresses,
    allocated: Mapping[str, Json],
    refusal: ResizeRefusal | None = None,
    is_resizing: bool = False,
) -> JsonObject:
    """Fields that are None are to be removed. ``allocated``: the containers' resources;
    ``refusal``: why they are not what the pod asks for; ``is_resizing``: they are, but not all
    containers have been started again for it."""
    known = plain_field(pod, "status")
    if report.init:
        report = _initializing(report)
    host_ip, pod_ip = addresses.host_ip, addresses.pod_ip
    status: JsonObject = {
        "observedGeneration": plain_field(pod, "metadata").get("generation"),
        "phase": report.phase,
        "hostIP": host_ip,
        "hostIPs": [{"ip": host_ip}],
        "podIP": pod_ip,
        "podIPs": [{"ip": pod_ip}],
        "startTime": known.get("startTime") or format_time(report.begun),
        "conditions": _conditions(pod, report, now, _resize_conditions(refusal, is_resizing)),
        "containerStatuses": [_sized(c, allocated) for c in _by_name(report.containers)],
    }
    if report.init:
        status["initContainerStatuses"] = [_sized(c, allocated) for c in report.init]
    if report.ephemeral:
        # Traffic is never sent to them, so they are never ready.
        status["ephemeralContainerStatuses"] = [
            {**_container(c), "ready": False} for c in _by_name(report.ephemeral)
        ]
    if report.reason:
        status |= {"reason": report.reason, "message": report.message}
    return status


def status_patch(pod: KubeObject, status: JsonObject) -> JsonObject:
    """A strategic patch that makes ``status`` the pod's, whatever was stored. Merged by address,
    the lists of addresses would keep every one that the pod or its host ever had."""
    replaced = {field: [_REPLACE, *status[field]] for field in ("hostIPs", "podIPs")}
    return {"metadata": {"uid": pod.uid}, "status": {**status, **replaced}}


def rejected_patch(pod: KubeObject, rejection: Rejection, now: float) -> JsonObject:
    """A strategic patch for a pod that may not run on its node."""
    status = {
        "observedGeneration": pod.metadata.generation,
        "phase": states.FAILED,
        "reason": rejection.reason,
        "message": f"Pod was rejected: {rejection.message}",
        "startTime": format_time(now),
    }
    return {"metadata": {"uid": pod.uid}, "status": status}


def has_changed(pod: KubeObject, status: JsonObject) -> bool:
    """Whether the pod's stored status is another."""
    known = plain_field(pod, "status")
    for field, value in status.items():
        if field != "conditions" and known.get(field) != value:
            return True
    conditions = {c["type"]: c for c in known.get("conditions") or ()}
    return any(
        conditions.get(wanted["type"], {}).get(field) != value
        for wanted in status["conditions"]
        for field, value in wanted.items()
    )


class _OthersMetadata(msgspec.Struct, gc=False):
    generation: int | None = None
    labels: dict[str, str] | None = None
    annotations: dict[str, str] | None = None
    finalizers: list[str] | None = None
    deletionTimestamp: str | None = None
    deletionGracePeriodSeconds: int | None = None


class _Condition(msgspec.Struct, gc=False):
    type: str = ""
    status: str = ""


class _Status(msgspec.Struct, gc=False):
    conditions: list[_Condition] | None = None


class _Pod(msgspec.Struct, gc=False):
    metadata: _OthersMetadata = msgspec.field(default_factory=_OthersMetadata)
    spec: msgspec.Raw = msgspec.Raw(b"{}")
    status: _Status = msgspec.field(default_factory=_Status)


_decode = msgspec.json.Decoder(_Pod).decode


def others_part(pod: KubeObject) -> object:
    """What others write of a pod that runs. It may be another in the answer to a status patch than
    in the state that the patch was made for. Read without decoding the rest: 5 µs."""
    found = _decode(pod.raw)
    generation, conditions = found.metadata.generation, found.status.conditions or ()
    return (
        # A server that counts no generations may spell the same spec in another way: a look more.
        bytes(found.spec) if generation is None else b"",
        found.metadata,
        [(one.type, one.status) for one in conditions if one.type not in _OWN_CONDITIONS],
    )


def _conditions(
    pod: KubeObject, report: states.PodReport, now: float, resizing: Sequence[_ConditionState]
) -> list[JsonObject]:
    conditions = plain_field(pod, "status").get("conditions") or ()
    known = {condition["type"]: condition for condition in conditions}
    containers = _containers_ready(pod, report)
    verdicts = [
        _ConditionState("PodReadyToStartContainers", report.phase not in states.TERMINAL),
        _initialized(report),
        _ready(pod, containers, known),
        containers,
        _ConditionState("PodScheduled", True),
    ]
    if (restarting := _restarting(pod, report)) is not None:
        verdicts.append(restarting)
    verdicts += resizing
    generation = plain_field(pod, "metadata").get("generation")
    made = [
        _condition(verdict, known.get(verdict.type) or {}, now, generation) for verdict in verdicts
    ]
    for kind in _RESIZE_CONDITIONS:
        if kind in known and all(one.type != kind for one in resizing):
            made.append({"$patch": "delete", "type": kind})
    return made


def _resize_conditions(
    refusal: ResizeRefusal | None, is_resizing: bool
) -> Sequence[_ConditionState]:
    """They are there while they hold."""
    found: list[_ConditionState] = []
    if refusal is not None:
        found.append(_ConditionState(resize.PENDING, True, refusal.reason, refusal.message))
    if is_resizing:
        found.append(_ConditionState(resize.IN_PROGRESS, True))
    return found


def _restarting(pod: KubeObject, report: states.PodReport) -> _ConditionState | None:
    """Only of pods that have a rule for it."""
    spec = plain_field(pod, "spec")
    if not may_restart_all((*(spec.get("initContainers") or ()), *(spec.get("containers") or ()))):
        return None
    if report.phase in states.TERMINAL:
        why = "PodCompleted" if report.phase == states.SUCCEEDED else "PodFailed"
        return _ConditionState(_RESTARTING_ALL, False, why)
    if not report.is_restarting_all:
        return _ConditionState(_RESTARTING_ALL, False)
    why, text = "RestartAllContainersStarted", "container exited with restart policy rule"
    return _ConditionState(_RESTARTING_ALL, True, why, text)


def _initialized(report: states.PodReport) -> _ConditionState:
    if report.phase == states.SUCCEEDED:
        return _ConditionState("Initialized", True, "PodCompleted")
    # A sidecar that restarts beside containers that have begun takes nothing back.
    if report.is_initialized or any(map(_has_begun, report.containers)):
        return _ConditionState("Initialized", True)
    missing = _names(c for c in report.init if not c.allows_next)
    text = f"containers with incomplete status: {missing}"
    return _ConditionState("Initialized", False, "ContainersNotInitialized", text)


def _has_begun(container: states.ContainerReport) -> bool:
    return container.last is not None or not isinstance(container.state, states.Waiting)


def _containers_ready(pod: KubeObject, report: states.PodReport) -> _ConditionState:
    if report.phase == states.FAILED:
        return _ConditionState("ContainersReady", False, "PodFailed")
    if report.phase == states.SUCCEEDED:
        return _ConditionState("ContainersReady", False, "PodCompleted")
    unready = [c for c in report.containers if not c.is_ready]
    if report.init:
        init = plain_field(pod, "spec").get("initContainers") or ()
        sidecars = {one["name"] for one in init if is_sidecar(one, is_init=True)}
        unready[:0] = [c for c in report.init if c.name in sidecars and not c.is_ready]
    if not unready:
        return _ConditionState("ContainersReady", True)
    text = f"containers with unready status: {_names(unready)}"
    return _ConditionState("ContainersReady", False, "ContainersNotReady", text)


def _ready(pod: KubeObject, containers: _ConditionState, known: Json) -> _ConditionState:
    if not containers.holds:
        return _ConditionState("Ready", False, containers.reason, containers.message)
    gates = plain_field(pod, "spec").get("readinessGates") or ()
    closed = [said for gate in gates if (said := _closed_gate(gate["conditionType"], known))]
    if closed:
        return _ConditionState("Ready", False, "ReadinessGatesNotReady", ", ".join(closed))
    return _ConditionState("Ready", True)


def _closed_gate(gate: str, known: Json) -> str:
    found = known.get(gate)
    if found is None:
        return f'corresponding condition of pod readiness gate "{gate}" does not exist.'
    if found.get("status") != "True":
        is_what = found.get("status") or ""
        return f'the status of pod readiness gate "{gate}" is not "True", but {is_what}'
    return ""


def _condition(
    verdict: _ConditionState, known: Json, now: float, generation: int | None
) -> JsonObject:
    status = "True" if verdict.holds else "False"
    changed = known.get("status") != status
    made: JsonObject = {
        "type": verdict.type,
        "observedGeneration": generation,
        "status": status,
        "lastTransitionTime": format_time(now) if changed else known.get("lastTransitionTime"),
    }
    if not known:
        made["lastProbeTime"] = None  # as it is stored: a server takes it as it is
    # None removes what is stored; of a new condition nothing is.
    for field, said in (("reason", verdict.reason), ("message", verdict.message)):
        if said is not None or field in known:
            made[field] = said
    return made


def _sized(container: states.ContainerReport, allocated: Mapping[str, Json]) -> JsonObject:
    """With its resources, once it has been started."""
    status = _container(container)
    if container.container_id:
        resources = allocated.get(container.name) or {}
        status["resources"] = resources
        if requests := resources.get("requests"):
            status["allocatedResources"] = requests
    return status


def _initializing(report: states.PodReport) -> states.PodReport:
    """Whatever has not begun yet in a pod with init containers waits for these, they included."""
    return msgspec.structs.replace(
        report,
        init=[_waiting_for_init(c) for c in report.init],
        containers=[_waiting_for_init(c) for c in report.containers],
        ephemeral=[_waiting_for_init(c) for c in report.ephemeral],
    )


def _waiting_for_init(container: states.ContainerReport) -> states.ContainerReport:
    state = container.state
    if not isinstance(state, states.Waiting) or state.reason != states.CREATING or container.last:
        return container
    return msgspec.structs.replace(container, state=states.Waiting(states.INITIALIZING))


def _container(container: states.ContainerReport) -> JsonObject:
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


def _state(container: states.ContainerReport, state: states.ContainerState) -> JsonObject:
    match state:
        case states.Waiting(reason, _, message):
            said = {"reason": reason, "message": message} if message else {"reason": reason}
            return {"waiting": said}
        case states.Running(started_at):
            return {"running": {"startedAt": format_time(started_at)}}
        case states.Terminated():
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


def _by_name(containers: Sequence[states.ContainerReport]) -> Sequence[states.ContainerReport]:
    """The order of statuses; only those of init containers are in the order of the spec."""
    return sorted(containers, key=lambda c: c.name) if len(containers) > 1 else containers


def _names(containers: Iterable[states.ContainerReport]) -> str:
    return f"[{' '.join(c.name for c in containers)}]"
