"""What an autoscaler decides from its proposals, and how its status tells it. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from proreus.api.frozen import thaw
from proreus.api.object import KubeObject
from proreus.api.values.timestamp import format_time
from proreus.cluster.controllers import conditions
from proreus.cluster.controllers.autoscaler.pace import Pace
from proreus.cluster.controllers.autoscaler.proposal import Proposal


@dataclass(frozen=True, slots=True)
class Said:
    """A condition: ``kind`` is its type."""

    kind: str
    holds: bool
    reason: str
    message: str


@dataclass(frozen=True, slots=True)
class Decision:
    """``replicas`` None: the size is left alone. ``why``: as the event tells it."""

    replicas: int | None
    said: tuple[Said, ...]
    why: str = ""


def bounds(autoscaler: KubeObject) -> tuple[int, int]:
    least = autoscaler.spec.minReplicas
    return (1 if least is None else int(least)), int(autoscaler.spec.maxReplicas)


def at_once(autoscaler: KubeObject, current: int) -> Decision | None:
    """What needs no metrics: a target that is switched off, or outside its bounds."""
    least, most = bounds(autoscaler)
    if current == 0 and least != 0:
        message = "scaling is disabled since the replica count of the target is zero"
        return Decision(None, (Said("ScalingActive", False, "ScalingDisabled", message),))
    if current > most:
        return Decision(most, (), "Current number of replicas above Spec.MaxReplicas")
    if current < least:
        return Decision(least, (), "Current number of replicas below Spec.MinReplicas")
    return None


def decide(
    autoscaler: KubeObject, pace: Pace, current: int, proposals: Sequence[Proposal], now: float
) -> Decision:
    """The largest proposal, as fast as is allowed, within the bounds."""
    best = max(proposals, key=lambda one: one.replicas)
    behavior = autoscaler.spec.behavior or {}
    paced = pace.limit(autoscaler.key, behavior, current, best.replicas, now)
    least, most = bounds(autoscaler)
    replicas = min(max(paced.replicas, least), most)
    message = f"the HPA was able to successfully calculate a replica count from {best.metric}"
    said = [
        Said("ScalingActive", True, "ValidMetricFound", message),
        Said("AbleToScale", True, "ReadyForNewScale", "recommended size matches current size"),
        _limited(best.replicas, least, most, is_too_fast=paced.is_limited),
    ]
    if paced.is_stabilized:
        text = (
            "recent recommendations were higher than current one, applying the highest recent "
            "recommendation"
        )
        said[1] = Said("AbleToScale", True, "ScaleDownStabilized", text)
    why = f"{best.metric} above target" if replicas > current else "All metrics below target"
    return Decision(replicas, tuple(said), why)


def _limited(wanted: int, least: int, most: int, *, is_too_fast: bool) -> Said:
    kind = "ScalingLimited"
    if wanted > most:
        text = "the desired replica count is more than the maximum replica count"
        return Said(kind, True, "TooManyReplicas", text)
    if wanted < least:
        text = "the desired replica count is less than the minimum replica count"
        return Said(kind, True, "TooFewReplicas", text)
    if is_too_fast:
        text = "the desired replica count is changing faster than the maximum scale rate"
        return Said(kind, True, "ScaleUpLimit", text)
    return Said(
        kind, False, "DesiredWithinRange", "the desired count is within the acceptable range"
    )


def status_of(
    autoscaler: KubeObject,
    current: int,
    decision: Decision,
    proposals: Sequence[Proposal],
    now: float,
) -> dict[str, Any]:
    before = autoscaler.status or {}
    found: list[conditions.Condition] = thaw(before.get("conditions") or [])
    for one in decision.said:
        made = conditions.condition(
            one.kind, "True" if one.holds else "False", one.reason, one.message, now
        )
        found = conditions.with_condition(found, made)
    status: dict[str, Any] = {
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
