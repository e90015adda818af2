"""What a ReplicaSet needs: pods to create or delete, and its status. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from proreus.api.frozen import thaw
from proreus.api.json_types import Json, JsonObject
from proreus.api.object import KubeObject
from proreus.api.selectors.labels import LabelSelector
from proreus.client import conditions
from proreus.cluster.controllers.batches import BURST
from proreus.cluster.controllers.pod_owners import REPLICATION_CONTROLLER
from proreus.cluster.controllers.pod_template import desired_replicas
from proreus.cluster.controllers.replica_set.pod_summaries import PodSummary
from proreus.cluster.controllers.replica_set.ranking import first_to_delete
from proreus.cluster.pod_status import is_deleting


@dataclass(frozen=True, slots=True)
class Plan:
    """Create so many, or delete these; never both."""

    create: int = 0
    delete: tuple[KubeObject, ...] = ()


@dataclass(frozen=True, slots=True)
class ReplicaFailure:
    """Why pods could not be created or deleted."""

    reason: str
    message: str


def plan(
    replica_set: KubeObject,
    active: Sequence[PodSummary],
    related: Callable[[], Iterable[PodSummary]],
    now: float,
) -> Plan:
    if is_deleting(replica_set):
        return Plan()
    excess = len(active) - desired_replicas(replica_set)
    if excess < 0:
        return Plan(create=min(-excess, BURST))
    if excess > 0:
        chosen = first_to_delete(active, min(excess, BURST), related(), now)
        return Plan(delete=tuple(summary.pod for summary in chosen))
    return Plan()


def status_of(
    replica_set: KubeObject, pods: Sequence[PodSummary], failure: ReplicaFailure | None, now: float
) -> JsonObject:
    """``pods``: all that are claimed, those that are going too."""
    spec = replica_set.spec
    template_labels = (spec.template.metadata or {}).get("labels") or {}
    has_labels = LabelSelector.from_object({"matchLabels": dict(template_labels)}).matches
    min_ready_s = spec.minReadySeconds or 0
    active = labelled = ready = available = 0
    for summary in pods:  # all of them, at each change of one
        if summary.is_finished or summary.is_deleting:
            continue
        active += 1
        if has_labels(summary.pod.labels):
            labelled += 1
        if summary.is_ready:
            ready += 1
            if not min_ready_s or summary.is_available(min_ready_s, now):
                available += 1
    counts: dict[str, int] = {
        "replicas": active,
        "fullyLabeledReplicas": labelled,
        "readyReplicas": ready,
        "availableReplicas": available,
    }
    if replica_set.kind != REPLICATION_CONTROLLER:  # whose status has no such field
        going = sum(summary.is_deleting and not summary.is_finished for summary in pods)
        counts["terminatingReplicas"] = going
    status: JsonObject = {"replicas": counts.pop("replicas")}
    status |= {field: count for field, count in counts.items() if count}
    status["observedGeneration"] = replica_set.metadata.generation or 0
    if found := _conditions(replica_set.status or {}, failure, now):
        status["conditions"] = found
    return status


def _conditions(
    status: Json, failure: ReplicaFailure | None, now: float
) -> list[conditions.Condition]:
    present: list[conditions.Condition] = thaw(status.get("conditions") or [])
    if failure is None:
        return conditions.without_condition(present, "ReplicaFailure")
    failed = conditions.condition("ReplicaFailure", "True", failure.reason, failure.message, now)
    return conditions.with_condition(present, failed)
