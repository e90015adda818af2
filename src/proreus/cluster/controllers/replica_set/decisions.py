"""What a ReplicaSet needs: pods to create or delete, and its status. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from proreus.api.frozen import thaw
from proreus.api.object import KubeObject
from proreus.api.selectors.labels import LabelSelector
from proreus.cluster.controllers import conditions
from proreus.cluster.controllers.batches import BURST
from proreus.cluster.controllers.ownership import is_deleting
from proreus.cluster.controllers.replica_set.ranking import first_to_delete
from proreus.cluster.controllers.replica_set.seen import Seen


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
    related: Callable[[], Iterable[KubeObject]],
    now: float,
) -> Plan:
    if is_deleting(replica_set):
        return Plan()
    excess = len(active) - wanted(replica_set)
    if excess < 0:
        return Plan(create=min(-excess, BURST))
    if excess > 0:
        return Plan(delete=tuple(first_to_delete(active, min(excess, BURST), related(), now)))
    return Plan()


def wanted(replica_set: KubeObject) -> int:
    replicas = replica_set.spec.replicas
    return 1 if replicas is None else int(replicas)


def status_of(
    replica_set: KubeObject, pods: Sequence[Seen], trouble: Trouble | None, now: float
) -> dict[str, Any]:
    """``pods``: all that are claimed, those that are going too."""
    spec = replica_set.spec
    active = [seen for seen in pods if seen.is_active]
    template_labels = (spec.template.metadata or {}).get("labels") or {}
    labelled = LabelSelector.from_object({"matchLabels": dict(template_labels)})
    min_ready_s = spec.minReadySeconds or 0
    counts: dict[str, int] = {
        "replicas": len(active),
        "fullyLabeledReplicas": sum(labelled.matches(seen.pod.labels) for seen in active),
        "readyReplicas": sum(seen.is_ready for seen in active),
        "availableReplicas": sum(seen.is_available(min_ready_s, now) for seen in active),
        "terminatingReplicas": sum(seen.is_going and not seen.is_finished for seen in pods),
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
