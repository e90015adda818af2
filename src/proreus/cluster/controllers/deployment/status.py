"""A Deployment's status and conditions, from its ReplicaSets. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from proreus.api.frozen import thaw
from proreus.api.json_types import JsonObject
from proreus.api.object import KubeObject
from proreus.api.values.timestamp import format_time, parse_time
from proreus.client import conditions
from proreus.client.conditions import Condition
from proreus.cluster.controllers.deployment.replica_sets import reported, rollout_limits, total
from proreus.cluster.controllers.pod_template import desired_replicas

_NO_DEADLINE = 2**31 - 1
COMPLETE = "NewReplicaSetAvailable"
PROGRESSED = "ReplicaSetUpdated"
TIMED_OUT = "ProgressDeadlineExceeded"


def counts(deployment: KubeObject, new: KubeObject | None, old: Sequence[KubeObject]) -> JsonObject:
    """The numbers of the status, without those that are zero."""
    every = [*old, new] if new is not None else list(old)
    available = sum(reported(one, "availableReplicas") for one in every)
    numbers = {
        "observedGeneration": deployment.metadata.generation or 0,
        "replicas": sum(reported(one, "replicas") for one in every),
        "updatedReplicas": reported(new, "replicas") if new is not None else 0,
        "readyReplicas": sum(reported(one, "readyReplicas") for one in every),
        "availableReplicas": available,
        "unavailableReplicas": max(0, total(every) - available),
        "terminatingReplicas": sum(reported(one, "terminatingReplicas") for one in every),
        "collisionCount": (deployment.status or {}).get("collisionCount") or 0,
    }
    return {field: number for field, number in numbers.items() if number}


def has_deadline(deployment: KubeObject) -> bool:
    limit = deployment.spec.progressDeadlineSeconds
    return limit is not None and limit != _NO_DEADLINE


def is_complete(deployment: KubeObject, numbers: JsonObject) -> bool:
    """Every pod is of the new template and available, and no other is left."""
    wanted = desired_replicas(deployment)
    fields = ("updatedReplicas", "replicas", "availableReplicas")
    return all(numbers.get(field, 0) == wanted for field in fields)


def has_progressed(deployment: KubeObject, numbers: JsonObject) -> bool:
    before = deployment.status or {}

    def grew(field: str) -> bool:
        return bool(numbers.get(field, 0) > (before.get(field) or 0))

    old_now = numbers.get("replicas", 0) - numbers.get("updatedReplicas", 0)
    old_before = (before.get("replicas") or 0) - (before.get("updatedReplicas") or 0)
    return (
        grew("updatedReplicas") or grew("readyReplicas") or grew("availableReplicas")
        or old_now < old_before
    )  # fmt: skip


def timed_out(deployment: KubeObject, progressing: Any, now: float) -> bool:
    if progressing is None or not has_deadline(deployment) or deployment.spec.paused:
        return False
    if progressing.get("reason") == COMPLETE:
        return False
    if progressing.get("reason") == TIMED_OUT:
        return True
    since = progressing.get("lastUpdateTime") or progressing.get("lastTransitionTime")
    return bool(since and parse_time(since) + deployment.spec.progressDeadlineSeconds < now)


def progress(type_status: str, reason: str, message: str, now: float, old: Any = None) -> Condition:
    """Progressing, updated now; the transition is as old as its status."""
    made = conditions.condition("Progressing", type_status, reason, message, now)
    made["lastUpdateTime"] = format_time(now)
    if old is not None and old.get("status") == type_status:
        made["lastTransitionTime"] = old.get("lastTransitionTime") or made["lastTransitionTime"]
    return made


def status_of(
    deployment: KubeObject,
    new: KubeObject | None,
    old: Sequence[KubeObject],
    extra: Sequence[Condition],
    now: float,
    *,
    rolling: bool,
) -> JsonObject:
    """``extra``: conditions found on the way. ``rolling``: whether progress is reported."""
    numbers = counts(deployment, new, old)
    found = conditions.present(deployment)
    for one in extra:
        found = conditions.with_condition(found, one)
    found = conditions.with_condition(found, _availability(deployment, numbers, now))
    if rolling and has_deadline(deployment):
        found = _with_progress(deployment, new, numbers, found, now)
    found = _with_failure(found, new, old)
    return {**numbers, "conditions": found} if found else numbers


def _availability(deployment: KubeObject, numbers: JsonObject, now: float) -> Condition:
    enough = numbers.get("availableReplicas", 0) >= rollout_limits(deployment).min_available
    made = conditions.condition(
        "Available",
        "True" if enough else "False",
        "MinimumReplicasAvailable" if enough else "MinimumReplicasUnavailable",
        f"Deployment {'has' if enough else 'does not have'} minimum availability.",
        now,
    )
    return {**made, "lastUpdateTime": format_time(now)}


def _with_progress(
    deployment: KubeObject,
    new: KubeObject | None,
    numbers: JsonObject,
    found: list[Condition],
    now: float,
) -> list[Condition]:
    present = conditions.among(found, "Progressing")
    subject = f'ReplicaSet "{new.name}"' if new is not None else f'Deployment "{deployment.name}"'
    is_old_news = numbers.get("replicas", 0) == numbers.get("updatedReplicas", 0)
    if present is not None and present["reason"] == COMPLETE and is_old_news:
        return found
    if is_complete(deployment, numbers):
        message = f"{subject} has successfully progressed."
        made = progress("True", COMPLETE, message, now, present)
    elif has_progressed(deployment, numbers):
        made = progress("True", PROGRESSED, f"{subject} is progressing.", now, present)
    elif timed_out(deployment, present, now):
        if present["reason"] == TIMED_OUT:
            return found
        made = progress("False", TIMED_OUT, f"{subject} has timed out progressing.", now, present)
    else:
        return found
    return [*conditions.without_condition(found, "Progressing"), made]


def _with_failure(
    found: list[Condition], new: KubeObject | None, old: Sequence[KubeObject]
) -> list[Condition]:
    """Pods that cannot be created are the Deployment's trouble too; the new ones' first."""
    for one in [*([new] if new is not None else []), *old]:
        failed = conditions.find(one, "ReplicaFailure")
        if failed is not None:
            copied = {**thaw(failed), "lastUpdateTime": failed.get("lastTransitionTime")}
            return conditions.with_condition(found, copied)
    return conditions.without_condition(found, "ReplicaFailure")


def until_deadline_s(deployment: KubeObject, status: JsonObject, now: float) -> float | None:
    """When to look again whether the rollout is stuck."""
    present = conditions.among(status.get("conditions"), "Progressing")
    if present is None or not has_deadline(deployment) or deployment.spec.paused:
        return None
    if is_complete(deployment, status) or present["reason"] in (COMPLETE, TIMED_OUT):
        return None
    since = present.get("lastUpdateTime") or present["lastTransitionTime"]
    limit = float(deployment.spec.progressDeadlineSeconds)
    return max(0.0, parse_time(since) + limit - now) + 1
