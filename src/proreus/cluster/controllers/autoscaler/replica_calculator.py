"""The replica calculator: how many replicas a metric asks for. Pure.

Usage is compared with the target over pods that are ready and measured. Missing metrics must not
decide: a pod without them counts as fully used when the rest would shrink and as idle when
it would grow, and pods that are not ready yet do not make the rest grow.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import ceil

from proreus.api.json_types import Json, JsonObject
from proreus.api.object import KubeObject
from proreus.api.values import quantity
from proreus.cluster.pod_status import is_deleting, is_ready, phase

TOLERANCE = Fraction(1, 10)
Usage = Mapping[str, Fraction]


class MetricUnavailable(Exception):
    """The text says why."""


@dataclass(frozen=True, slots=True)
class Proposal:
    """``current``: what is measured, as the status shows it. ``metric``: as messages name it."""

    replicas: int
    metric: str
    current: JsonObject


@dataclass(frozen=True, slots=True)
class _Groups:
    measured: tuple[KubeObject, ...]
    unready: tuple[KubeObject, ...]
    missing: tuple[KubeObject, ...]


def usage_by_pod(measurements: Iterable[KubeObject], resource: str) -> dict[str, Fraction]:
    """``PodMetrics`` objects → what each pod uses. A pod of which a container lacks is left out."""
    found = {}
    for one in measurements:
        amounts = [(c.get("usage") or {}).get(resource) for c in one.get("containers") or ()]
        if amounts and None not in amounts:
            found[one.name] = sum((quantity.amount(a) for a in amounts), Fraction(0))
    return found


def propose(
    resource: str, target: Json, pods: Sequence[KubeObject], usage: Usage, current: int
) -> Proposal:
    """For a metric of type Resource. Raises NoMetric."""
    groups = _grouped(pods, usage, resource)
    if not groups.measured:
        raise MetricUnavailable("did not receive metrics for targeted pods (pods might be unready)")
    if target.get("type") == "Utilization":
        share = Fraction(int(target["averageUtilization"]), 100)
        wanted = {pod.name: _requested(pod, resource) * share for pod in pods}
        full = {pod.name: max(_requested(pod, resource), wanted[pod.name]) for pod in pods}
        name = f"{resource} resource utilization (percentage of request)"
    else:
        per_pod = quantity.amount(target.get("averageValue"))
        wanted = full = {pod.name: per_pod for pod in pods}
        name = f"{resource} resource"
    replicas = _replicas(groups, usage, wanted, full, current)
    total = sum((usage[pod.name] for pod in groups.measured), Fraction(0))
    rendered: JsonObject = {"averageValue": quantity.from_amount(total / len(groups.measured)).text}
    if target.get("type") == "Utilization":
        requested = sum((_requested(pod, resource) for pod in groups.measured), Fraction(0))
        rendered["averageUtilization"] = int(total * 100 / requested) if requested else 0
    metric = {"type": "Resource", "resource": {"name": resource, "current": rendered}}
    return Proposal(replicas, name, metric)


def _grouped(pods: Sequence[KubeObject], usage: Usage, resource: str) -> _Groups:
    measured, unready, missing = [], [], []
    for pod in pods:
        if is_deleting(pod) or phase(pod) == "Failed":
            continue
        if phase(pod) == "Pending" or (resource == "cpu" and not is_ready(pod)):
            unready.append(pod)
        elif pod.name in usage:
            measured.append(pod)
        else:
            missing.append(pod)
    return _Groups(tuple(measured), tuple(unready), tuple(missing))


def _requested(pod: KubeObject, resource: str) -> Fraction:
    total = Fraction(0)
    for container in pod.spec.containers or ():
        asked = ((container.get("resources") or {}).get("requests") or {}).get(resource)
        if asked is None:
            where = f"container {container['name']} of Pod {pod.name}"
            problem = f"failed to get {resource} utilization: missing request for {resource}"
            raise MetricUnavailable(f"{problem} in {where}")
        total += quantity.amount(asked)
    return total


def _replicas(groups: _Groups, usage: Usage, wanted: Usage, full: Usage, current: int) -> int:
    def ratio(amounts: Usage) -> Fraction:
        target = sum((wanted[name] for name in amounts), Fraction(0))
        return sum(amounts.values(), Fraction(0)) / target if target else Fraction(1)

    amounts = {pod.name: usage[pod.name] for pod in groups.measured}
    first = ratio(amounts)
    grows = first > 1
    if not (groups.unready and grows) and not groups.missing:
        return current if _is_close(first) else ceil(first * len(amounts))
    for pod in groups.missing:
        amounts[pod.name] = Fraction(0) if grows else full[pod.name]
    if grows:
        amounts |= {pod.name: Fraction(0) for pod in groups.unready}
    second = ratio(amounts)
    if _is_close(second) or (second > 1) != grows:
        return current
    replicas = ceil(second * len(amounts))
    return current if (replicas > current) != grows else replicas


def _is_close(ratio: Fraction) -> bool:
    return abs(1 - ratio) <= TOLERANCE
