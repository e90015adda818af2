"""What a PodDisruptionBudget allows. Pure.

An eviction takes one from ``disruptionsAllowed`` and notes its pod in ``disruptedPods``; until the
pod is seen to go it does not count as healthy, so that it is not given away twice.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from proreus.api.frozen import thaw
from proreus.api.json_types import JsonObject
from proreus.api.object import KubeObject
from proreus.api.selectors.labels import LabelSelector
from proreus.api.values.int_or_string import scaled
from proreus.api.values.timestamp import parse_time
from proreus.client import conditions
from proreus.cluster.pod_status import is_deleting, is_finished, is_ready

DELETION_TIMEOUT_S = 120.0  # an evicted pod that is still there after this was not deleted


@dataclass(frozen=True, slots=True)
class Need:
    """``expected``: pods there should be. ``desired``: how many of them must be healthy."""

    expected: int
    desired: int


@dataclass(frozen=True, slots=True)
class Disrupted:
    """``waiting``: evicted and not gone, by name, and since when. ``overdue``: not deleted."""

    waiting: Mapping[str, str]
    overdue: tuple[str, ...]
    again_s: float | None


def selects(budget: KubeObject, pod: KubeObject) -> bool:
    selector = budget.spec.selector
    return selector is not None and LabelSelector.from_object(selector).matches(pod.labels)


def counts_controllers(budget: KubeObject) -> bool:
    """Whether the pods' controllers say how many there should be; else those there are do."""
    return budget.spec.maxUnavailable is not None or isinstance(budget.spec.minAvailable, str)


def need(budget: KubeObject, expected: int) -> Need:
    most, least = budget.spec.maxUnavailable, budget.spec.minAvailable
    if most is not None:
        return Need(expected, max(0, expected - scaled(most, expected, round_up=True)))
    return Need(expected, scaled(least or 0, expected, round_up=True))


def disrupted(budget: KubeObject, pods: Sequence[KubeObject], now: float) -> Disrupted:
    noted: dict[str, str] = dict((budget.status or {}).get("disruptedPods") or {})
    present = {pod.name for pod in pods if not is_deleting(pod)}
    left_s = {
        name: parse_time(since) + DELETION_TIMEOUT_S - now
        for name, since in noted.items()
        if name in present
    }
    waiting = {name: noted[name] for name, s in left_s.items() if s > 0}
    return Disrupted(
        waiting,
        tuple(name for name, s in left_s.items() if s <= 0),
        min((left_s[name] for name in waiting), default=None),
    )


def status_of(
    budget: KubeObject,
    pods: Sequence[KubeObject],
    wanted: Need,
    waiting: Mapping[str, str],
    now: float,
) -> JsonObject:
    healthy = sum(
        is_ready(pod) and not is_deleting(pod) and not is_finished(pod) and pod.name not in waiting
        for pod in pods
    )
    allowed = max(0, healthy - wanted.desired) if wanted.expected > 0 else 0
    status: JsonObject = {
        "currentHealthy": healthy,
        "desiredHealthy": wanted.desired,
        "expectedPods": wanted.expected,
        "disruptionsAllowed": allowed,
        "observedGeneration": budget.metadata.generation or 0,
    }
    if waiting:
        status["disruptedPods"] = dict(waiting)
    word = "True", "SufficientPods"
    if not allowed:
        word = "False", "InsufficientPods"
    return {**status, "conditions": _conditions(budget, *word, "", now)}


def failed_status(budget: KubeObject, why: str, now: float) -> JsonObject:
    """Without an expected number of pods nothing may be evicted."""
    before: JsonObject = thaw(budget.status or {})
    numbers = dict.fromkeys(("currentHealthy", "desiredHealthy", "expectedPods"), 0)
    found = _conditions(budget, "False", "SyncFailed", why, now)
    return {**numbers, **before, "disruptionsAllowed": 0, "conditions": found}


def _conditions(
    budget: KubeObject, status: str, reason: str, message: str, now: float
) -> list[conditions.Condition]:
    present = conditions.present(budget)
    made = conditions.condition("DisruptionAllowed", status, reason, message, now)
    made["observedGeneration"] = budget.metadata.generation or 0
    found = conditions.with_condition(present, made)
    for one in found:
        if one["type"] == "DisruptionAllowed":
            one["observedGeneration"] = made["observedGeneration"]
    return found
