"""Controllers of pods: deployments, sets, jobs, autoscalers."""

from __future__ import annotations

from typing import Any

from proreus.api.group_version import GroupVersion
from proreus.api.table import human_duration
from proreus.server.views.columns.cells import (
    NONE,
    UNSET,
    Object,
    age,
    container_cells,
    holds,
    is_deleting,
    name_of,
    number,
    pairs,
    selector,
    selector_or_empty,
    since,
    template_spec,
    true_false,
    unix_time,
)
from proreus.server.views.columns.printer import Cells, Printer, columns

_WIDE = ("Containers*", "Images*", "Selector*")


def _replicas(obj: Object) -> int:
    wanted = (obj.get("spec") or {}).get("replicas")
    return 1 if wanted is None and obj.get("spec") else number(wanted)


def _fill_deployment(obj: Object, now: float) -> Cells:
    spec, status = obj.get("spec") or {}, obj.get("status") or {}
    return [
        name_of(obj),
        f"{number(status.get('readyReplicas'))}/{_replicas(obj)}",
        number(status.get("updatedReplicas")),
        number(status.get("availableReplicas")),
        age(obj, now),
        *container_cells(template_spec(obj)),
        selector_or_empty(spec.get("selector")),
    ]


def _fill_replica_set(obj: Object, now: float) -> Cells:
    spec = obj.get("spec") or {}
    return [*_replica_cells(obj, now), selector(spec.get("selector"))]


def _fill_replication_controller(obj: Object, now: float) -> Cells:
    spec = obj.get("spec") or {}
    return [*_replica_cells(obj, now), pairs(spec.get("selector"))]


def _replica_cells(obj: Object, now: float) -> Cells:
    status = obj.get("status") or {}
    return [
        name_of(obj),
        _replicas(obj),
        number(status.get("replicas")),
        number(status.get("readyReplicas")),
        age(obj, now),
        *container_cells(template_spec(obj)),
    ]


def _fill_stateful_set(obj: Object, now: float) -> Cells:
    status = obj.get("status") or {}
    ready = f"{number(status.get('readyReplicas'))}/{_replicas(obj)}"
    return [name_of(obj), ready, age(obj, now), *container_cells(template_spec(obj))]


_DAEMON_COUNTS = (
    "desiredNumberScheduled",
    "currentNumberScheduled",
    "numberReady",
    "updatedNumberScheduled",
    "numberAvailable",
)


def _fill_daemon_set(obj: Object, now: float) -> Cells:
    spec, status = obj.get("spec") or {}, obj.get("status") or {}
    pod = template_spec(obj)
    return [
        name_of(obj),
        *(number(status.get(count)) for count in _DAEMON_COUNTS),
        pairs(pod.get("nodeSelector")),
        age(obj, now),
        *container_cells(pod),
        selector(spec.get("selector")),
    ]


# In this order: a finished job is finished even while it is being deleted.
_JOB_ENDS = (("Complete", "Complete"), ("Failed", "Failed"))
_JOB_STATES = (
    ("Suspended", "Suspended"),
    ("FailureTarget", "FailureTarget"),
    ("SuccessCriteriaMet", "SuccessCriteriaMet"),
)


def _job_status(obj: Object) -> str:
    for kind, text in _JOB_ENDS:
        if holds(obj, kind):
            return text
    if is_deleting(obj):
        return "Terminating"
    return next((text for kind, text in _JOB_STATES if holds(obj, kind)), "Running")


def _completions(spec: Object, status: Object) -> str:
    done, wanted = number(status.get("succeeded")), spec.get("completions")
    if wanted is not None:
        return f"{done}/{wanted}"
    parallelism = number(spec.get("parallelism"))
    return f"{done}/1 of {parallelism}" if parallelism > 1 else f"{done}/1"


def _duration(status: Object, now: float) -> str:
    start = unix_time(status.get("startTime"))
    if start is None:
        return ""
    return human_duration((unix_time(status.get("completionTime")) or now) - start)


def _fill_job(obj: Object, now: float) -> Cells:
    spec, status = obj.get("spec") or {}, obj.get("status") or {}
    return [
        name_of(obj),
        _job_status(obj),
        _completions(spec, status),
        _duration(status, now),
        age(obj, now),
        *container_cells(template_spec(obj)),
        selector(spec.get("selector")),
    ]


def _fill_cron_job(obj: Object, now: float) -> Cells:
    spec, status = obj.get("spec") or {}, obj.get("status") or {}
    job = spec.get("jobTemplate") or {}
    last = status.get("lastScheduleTime")
    return [
        name_of(obj),
        spec.get("schedule", ""),
        spec.get("timeZone") or NONE,
        true_false(spec.get("suspend")),
        len(status.get("active") or ()),
        since(last, now) if last else NONE,
        age(obj, now),
        *container_cells(template_spec(job)),
        selector((job.get("spec") or {}).get("selector")),
    ]


def _fill_controller_revision(obj: Object, now: float) -> Cells:
    owners = (obj.get("metadata") or {}).get("ownerReferences") or ()
    controller = next((owner for owner in owners if owner.get("controller")), None)
    text = NONE if controller is None else _resource_name(controller)
    return [name_of(obj), text, number(obj.get("revision")), age(obj, now)]


def _resource_name(owner: Object) -> str:
    group = GroupVersion.parse(owner.get("apiVersion", "")).group
    kind = str(owner.get("kind", "")).lower()
    return f"{kind}.{group}/{owner.get('name')}" if group else f"{kind}/{owner.get('name')}"


def _fill_autoscaler(obj: Object, now: float) -> Cells:
    spec, status = obj.get("spec") or {}, obj.get("status") or {}
    target = spec.get("scaleTargetRef") or {}
    least = spec.get("minReplicas")
    return [
        name_of(obj),
        f"{target.get('kind', '')}/{target.get('name', '')}",
        _targets(spec.get("metrics") or (), status.get("currentMetrics") or ()),
        UNSET if least is None else str(least),
        number(spec.get("maxReplicas")),
        number(status.get("currentReplicas")),
        age(obj, now),
    ]


def _targets(metrics: Any, current: Any) -> str:
    if not metrics:
        return NONE
    texts = [
        _target(metric, current[at] if at < len(current) else {})
        for at, metric in enumerate(metrics)
    ]
    shown = ", ".join(texts[:2])
    return f"{shown} + {len(texts) - 2} more..." if len(texts) > 2 else shown


_SOURCES = {
    "External": "external",
    "Pods": "pods",
    "Object": "object",
    "Resource": "resource",
    "ContainerResource": "containerResource",
}


def _target(metric: Object, current: Object) -> str:
    kind = metric.get("type", "")
    source = _SOURCES.get(kind)
    if source is None:
        return "<unknown type>"
    wanted = metric.get(source) or {}
    target, now = wanted.get("target") or {}, (current.get(source) or {}).get("current") or {}
    name = f"{wanted.get('name', '')}: " if kind.endswith("Resource") else ""
    if target.get("averageValue") is not None:
        average = " (avg)" if kind in ("External", "Object") else ""
        return f"{name}{_or_unknown(now.get('averageValue'))}/{target['averageValue']}{average}"
    if kind.endswith("Resource"):
        used, wished = now.get("averageUtilization"), target.get("averageUtilization")
        left = _or_unknown(None if used is None else f"{used}%")
        return f"{name}{left}/{'<auto>' if wished is None else f'{wished}%'}"
    return f"{_or_unknown(now.get('value'))}/{target.get('value', '')}"


def _or_unknown(value: Any) -> str:
    return "<unknown>" if value is None else str(value)


def _fill_scale(obj: Object, now: float) -> Cells:
    spec, status = obj.get("spec") or {}, obj.get("status") or {}
    wanted, there = number(spec.get("replicas")), number(status.get("replicas"))
    return [name_of(obj), wanted, there, age(obj, now)]


_REPLICAS = columns("Name", "Desired:integer", "Current:integer", "Ready:integer", "Age", *_WIDE)

PRINTERS: dict[tuple[str, str], Printer] = {
    ("", "ReplicationController"): Printer(_REPLICAS, _fill_replication_controller),
    ("apps", "ReplicaSet"): Printer(_REPLICAS, _fill_replica_set),
    ("apps", "Deployment"): Printer(
        columns("Name", "Ready", "Up-to-date", "Available", "Age", *_WIDE), _fill_deployment
    ),
    ("apps", "StatefulSet"): Printer(
        columns("Name", "Ready", "Age", "Containers*", "Images*"), _fill_stateful_set
    ),
    ("apps", "DaemonSet"): Printer(
        columns(
            "Name", "Desired:integer", "Current:integer", "Ready:integer", "Up-to-date:integer",
            "Available:integer", "Node Selector", "Age", *_WIDE,
        ),
        _fill_daemon_set,
    ),
    ("apps", "ControllerRevision"): Printer(
        columns("Name", "Controller", "Revision", "Age"), _fill_controller_revision
    ),
    ("batch", "Job"): Printer(
        columns("Name", "Status", "Completions", "Duration", "Age", *_WIDE), _fill_job
    ),
    ("batch", "CronJob"): Printer(
        columns(
            "Name", "Schedule", "Timezone", "Suspend:boolean", "Active:integer", "Last Schedule",
            "Age", *_WIDE,
        ),
        _fill_cron_job,
    ),
    ("autoscaling", "HorizontalPodAutoscaler"): Printer(
        columns("Name", "Reference", "Targets", "MinPods", "MaxPods", "Replicas", "Age"),
        _fill_autoscaler,
    ),
    ("autoscaling", "Scale"): Printer(
        columns("Name:string:", "Desired:integer", "Available:integer", "Age"), _fill_scale
    ),
}  # fmt: skip
