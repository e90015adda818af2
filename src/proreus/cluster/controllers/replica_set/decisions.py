"""What a ReplicaSet needs: pods to create or delete, and its status. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from proreus.api.frozen import thaw
from proreus.api.object import KubeObject
from proreus.api.selectors.labels import LabelSelector
from proreus.cluster.controllers import conditions
from proreus.cluster.controllers.batches import BURST
from proreus.cluster.controllers.ownership import is_deleting
from proreus.cluster.controllers.pod_template import (
    available_in_s,
    is_active,
    is_finished,
    is_ready,
)
from proreus.cluster.controllers.replica_set.ranking import first_to_delete


@dataclass(frozen=True, slots=True)
class Plan:
    """Create so many, or delete these; never both."""

    create: int = 0
    delete: tuple[KubeObject, ...] = ()


@dataclass(frozen=True, slots=True)
class Trouble:
    """Why pods could not be created or deleted."""

    reason: str
    message: str


def plan(
    replica_set: KubeObject,
    active: Sequence[KubeObject],
    related: Iterable[KubeObject],
    now: float,
) -> Plan:
    if is_deleting(replica_set):
        return Plan()
    excess = len(active) - wanted(replica_set)
    if excess < 0:
        return Plan(create=min(-excess, BURST))
    if excess > 0:
        return Plan(delete=tuple(first_to_delete(active, min(excess, BURST), related, now)))
    return Plan()


def wanted(replica_set: KubeObject) -> int:
    replicas = replica_set.spec.replicas
    return 1 if replicas is None else int(replicas)


def status_of(
    replica_set: KubeObject, pods: Sequence[KubeObject], trouble: Trouble | None, now: float
) -> dict[str, Any]:
    """``pods``: all that are claimed, those that are going too."""
    spec = replica_set.spec
    active = [pod for pod in pods if is_active(pod)]
    template_labels = (spec.template.metadata or {}).get("labels") or {}
    labelled = LabelSelector.from_object({"matchLabels": dict(template_labels)})
    min_ready_s = spec.minReadySeconds or 0
    counts: dict[str, int] = {
        "replicas": len(active),
        "fullyLabeledReplicas": sum(labelled.matches(pod.labels) for pod in active),
        "readyReplicas": sum(is_ready(pod) for pod in active),
        "availableReplicas": sum(available_in_s(p, min_ready_s, now) == 0 for p in active),
        "terminatingReplicas": sum(is_deleting(p) and not is_finished(p) for p in pods),
    }
    status: dict[str, Any] = {"replicas": counts.pop("replicas")}
    status |= {field: count for field, count in counts.items() if count}
    status["observedGeneration"] = replica_set.metadata.generation or 0
    if found := _conditions(replica_set.status or {}, trouble, now):
        status["conditions"] = found
    return status


def _conditions(
    status: Mapping[str, Any], trouble: Trouble | None, now: float
) -> list[conditions.Condition]:
    present: list[conditions.Condition] = thaw(status.get("conditions") or [])
    if trouble is None:
        return conditions.without_condition(present, "ReplicaFailure")
    failed = conditions.condition("ReplicaFailure", "True", trouble.reason, trouble.message, now)
    return conditions.with_condition(present, failed)


def next_availability_s(
    replica_set: KubeObject, pods: Iterable[KubeObject], now: float
) -> float | None:
    """When the next ready pod will have been ready for long enough."""
    min_ready_s = replica_set.spec.minReadySeconds or 0
    delays = [available_in_s(pod, min_ready_s, now) for pod in pods if is_active(pod)]
    return min((delay for delay in delays if delay), default=None)
