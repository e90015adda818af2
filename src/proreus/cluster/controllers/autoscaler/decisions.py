"""An autoscaler's decision from its proposals, and its status. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from proreus.api.json_types import JsonObject
from proreus.api.object import KubeObject
from proreus.api.values.timestamp import format_time
from proreus.client import conditions
from proreus.cluster.controllers.autoscaler.replica_calculator import Proposal
from proreus.cluster.controllers.autoscaler.stabilization import Stabilizer


@dataclass(frozen=True, slots=True)
class ConditionUpdate:
    """A condition: ``kind`` is its type."""

    kind: str
    holds: bool
    reason: str
    message: str


@dataclass(frozen=True, slots=True)
class ScalingDecision:
    """``replicas`` None: the size is left alone. ``why``: the reason in the event."""

    replicas: int | None
    conditions: tuple[ConditionUpdate, ...]
    why: str = ""


def bounds(autoscaler: KubeObject) -> tuple[int, int]:
    least = autoscaler.spec.minReplicas
    return (1 if least is None else int(least)), int(autoscaler.spec.maxReplicas)


def concurrently(autoscaler: KubeObject, current: int) -> ScalingDecision | None:
    """What needs no metrics: a target that is switched off, or outside its bounds."""
    least, most = bounds(autoscaler)
    if current == 0 and least != 0:
        message = "scaling is disabled since the replica count of the target is zero"
        return ScalingDecision(
            None, (ConditionUpdate("ScalingActive", False, "ScalingDisabled", message),)
        )
    if current > most:
        return ScalingDecision(most, (), "Current number of replicas above Spec.MaxReplicas")
    if current < least:
        return ScalingDecision(least, (), "Current number of replicas below Spec.MinReplicas")
    return None


def decide(
    autoscaler: KubeObject,
    stabilizer: Stabilizer,
    current: int,
    proposals: Sequence[Proposal],
    now: float,
) -> ScalingDecision:
    """The largest proposal, as fast as is allowed, within the bounds."""
    best = max(proposals, key=lambda one: one.replicas)
    behavior = autoscaler.spec.behavior or {}
    stabilized = stabilizer.limit(autoscaler.key, behavior, current, best.replicas, now)
    least, most = bounds(autoscaler)
    replicas = min(max(stabilized.replicas, least), most)
    message = f"the HPA was able to successfully calculate a replica count from {best.metric}"
    conditions = [
        ConditionUpdate("ScalingActive", True, "ValidMetricFound", message),
        ConditionUpdate(
            "AbleToScale", True, "ReadyForNewScale", "recommended size matches current size"
        ),
        _limited(best.replicas, least, most, is_too_fast=stabilized.is_limited),
    ]
    if stabilized.is_stabilized:
        text = (
            "recent recommendations were higher than current one, applying the highest recent "
            "recommendation"
        )
        conditions[1] = ConditionUpdate("AbleToScale", True, "ScaleDownStabilized", text)
    why = f"{best.metric} above target" if replicas > current else "All metrics below target"
    return ScalingDecision(replicas, tuple(conditions), why)


def _limited(wanted: int, least: int, most: int, *, is_too_fast: bool) -> ConditionUpdate:
    kind = "ScalingLimited"
    if wanted > most:
        text = "the desired replica count is more than the maximum replica count"
        return ConditionUpdate(kind, True, "TooManyReplicas", text)
    if wanted < least:
        text = "the desired replica count is less than the minimum replica count"
        return ConditionUpdate(kind, True, "TooFewReplicas", text)
    if is_too_fast:
        text = "the desired replica count is changing faster than the maximum scale rate"
        return ConditionUpdate(kind, True, "ScaleUpLimit", text)
    return ConditionUpdate(
        kind, False, "DesiredWithinRange", "the desired count is within the acceptable range"
    )


def with_replicas(scale: KubeObject, replicas: int) -> JsonObject:
    """The Scale to put in place of this one, whatever happened to the target since."""
    content = scale.to_dict()
    content["metadata"].pop("resourceVersion", None)
    return {**content, "spec": {**(content.get("spec") or {}), "replicas": replicas}}


def status_of(
    autoscaler: KubeObject,
    current: int,
    decision: ScalingDecision,
    proposals: Sequence[Proposal],
    now: float,
) -> JsonObject:
    before = autoscaler.status or {}
    found = conditions.present(autoscaler)
    for one in decision.conditions:
        made = conditions.condition(
            one.kind, "True" if one.holds else "False", one.reason, one.message, now
        )
        found = conditions.with_condition(found, made)
    status: JsonObject = {
        "observedGeneration": autoscaler.metadata.generation or 0,
        "currentReplicas": current,
        "desiredReplicas": current if decision.replicas is None else decision.replicas,
        "conditions": found,
    }
    if proposals:
        status["currentMetrics"] = [one.current for one in proposals]
    if decision.replicas not in (None, current):
        status["lastScaleTime"] = format_time(now)
    elif before.get("lastScaleTime"):
        status["lastScaleTime"] = before["lastScaleTime"]
    return status
