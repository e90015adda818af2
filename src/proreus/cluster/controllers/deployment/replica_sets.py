"""A Deployment's ReplicaSets: sizes, revisions, which one is the new one. Pure.

The bookkeeping lives in annotations, under Kubernetes' names, so that kubectl reads it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from proreus.api.frozen import thaw
from proreus.api.json_types import JsonObject
from proreus.api.object import KubeObject
from proreus.api.values.int_or_string import scaled
from proreus.client.ownership import controller_reference
from proreus.cluster.controllers.pod_template import HASH_LABEL, desired_replicas
from proreus.cluster.pod_status import created_at

_PREFIX = "deployment.kubernetes.io/"
REVISION = _PREFIX + "revision"
HISTORY = _PREFIX + "revision-history"
DESIRED = _PREFIX + "desired-replicas"
MAXIMUM = _PREFIX + "max-replicas"
_HISTORY_MAX = 2000
_NOT_COPIED = frozenset({
    REVISION, HISTORY, DESIRED, MAXIMUM,
    "kubectl.kubernetes.io/last-applied-configuration", "deprecated.deployment.rollback.to",
})  # fmt: skip


@dataclass(frozen=True, slots=True)
class RolloutLimits:
    """maxSurge and maxUnavailable, as numbers of pods."""

    replicas: int
    surge: int
    unavailable: int

    @property
    def max_total(self) -> int:
        return self.replicas + self.surge if self.replicas else 0

    @property
    def min_available(self) -> int:
        return self.replicas - self.unavailable


def rollout_limits(deployment: KubeObject) -> RolloutLimits:
    """Surge rounds up, unavailable down; if both are nothing, one pod may be missing, else no
    rollout could begin."""
    replicas = desired_replicas(deployment)
    if is_recreate(deployment):
        return RolloutLimits(replicas, 0, 0)
    rolling = (deployment.spec.strategy or {}).get("rollingUpdate") or {}
    surge = scaled(rolling.get("maxSurge", "25%"), replicas, round_up=True)
    unavailable = scaled(rolling.get("maxUnavailable", "25%"), replicas, round_up=False)
    if not surge and not unavailable:
        unavailable = 1
    return RolloutLimits(replicas, surge, min(unavailable, replicas))


def is_recreate(deployment: KubeObject) -> bool:
    return (deployment.spec.strategy or {}).get("type") == "Recreate"


def total(replica_sets: Iterable[KubeObject]) -> int:
    return sum(desired_replicas(one) for one in replica_sets)


def reported(replica_set: KubeObject, field: str) -> int:
    return int((replica_set.get("status") or {}).get(field) or 0)


def is_settled(replica_set: KubeObject) -> bool:
    """Its present size has been carried out once: it has no more pods than it is asked for."""
    generation = replica_set.metadata.generation or 0
    return reported(replica_set, "observedGeneration") >= generation


def available(replica_set: KubeObject) -> int:
    """Pods that are available and will stay: a ReplicaSet that has just been shrunk still reports
    those that it is about to delete."""
    return min(reported(replica_set, "availableReplicas"), desired_replicas(replica_set))


def revision(obj: KubeObject) -> int:
    text = obj.annotations.get(REVISION, "")
    return int(text) if text.isascii() and text.isdecimal() else 0


def find_new(deployment: KubeObject, replica_sets: Iterable[KubeObject]) -> KubeObject | None:
    """The ReplicaSet of the present template; the oldest, if a race has made several."""
    template = _comparable(deployment.spec.template)
    for one in sorted(replica_sets, key=_by_age):
        if _comparable(one.spec.template) == template:
            return one
    return None


def by_age(replica_sets: Iterable[KubeObject]) -> list[KubeObject]:
    return sorted(replica_sets, key=_by_age)


def _by_age(obj: KubeObject) -> tuple[float, str]:
    return created_at(obj), obj.name


def _comparable(template: Any) -> JsonObject:
    """Without the hash, and without the difference between an empty field and none."""
    plain: JsonObject = thaw(template)
    metadata = dict(plain.get("metadata") or {})
    labels = {key: value for key, value in (metadata.get("labels") or {}).items()
              if key != HASH_LABEL}  # fmt: skip
    metadata = {**metadata, "labels": labels, "creationTimestamp": None}
    kept = {key: value for key, value in metadata.items() if value}
    return {**plain, "metadata": kept}


def new_replica_set(
    deployment: KubeObject, template_hash: str, replicas: int, annotations: Mapping[str, str]
) -> JsonObject:
    """A ReplicaSet of the present template."""
    template = thaw(deployment.spec.template)
    hashed = {HASH_LABEL: template_hash}
    metadata = template.setdefault("metadata", {})
    metadata["labels"] = {**(metadata.get("labels") or {}), **hashed}
    selector = thaw(deployment.spec.selector)
    selector["matchLabels"] = {**(selector.get("matchLabels") or {}), **hashed}
    return {
        "apiVersion": "apps/v1",
        "kind": "ReplicaSet",
        "metadata": {
            "name": f"{deployment.name}-{template_hash}",
            "namespace": deployment.namespace,
            "labels": metadata["labels"],
            "annotations": dict(annotations),
            "ownerReferences": [controller_reference(deployment)],
        },
        "spec": {
            "replicas": replicas,
            "minReadySeconds": deployment.spec.minReadySeconds or 0,
            "selector": selector,
            "template": template,
        },
    }


def annotations_for(
    deployment: KubeObject, old: Iterable[KubeObject], present: Mapping[str, str]
) -> dict[str, str]:
    """What the new ReplicaSet's annotations should be: the Deployment's, the bookkeeping, and a
    revision above all old ones; revisions it had before are remembered."""
    copied = {k: v for k, v in deployment.annotations.items() if k not in _NOT_COPIED}
    wanted = {**present, **copied}
    number = max((revision(one) for one in old), default=0) + 1
    before = present.get(REVISION, "")
    if not before.isdecimal() or int(before) < number:
        wanted[REVISION] = str(number)
        if before:
            history = [*filter(None, present.get(HISTORY, "").split(",")), before]
            while len(",".join(history)) > _HISTORY_MAX:
                history = history[1:]
            wanted[HISTORY] = ",".join(history)
    return wanted


def size_annotations(deployment: KubeObject) -> dict[str, str]:
    limits = rollout_limits(deployment)
    return {DESIRED: str(limits.replicas), MAXIMUM: str(limits.replicas + limits.surge)}


def is_scaling_event(deployment: KubeObject, replica_sets: Iterable[KubeObject]) -> bool:
    """``spec.replicas`` was changed since the ReplicaSets were last sized."""
    wanted = str(desired_replicas(deployment))
    return any(
        one.annotations.get(DESIRED, wanted) != wanted
        for one in replica_sets
        if desired_replicas(one)
    )


def beyond_history(deployment: KubeObject, old: Iterable[KubeObject]) -> list[KubeObject]:
    """Old ReplicaSets that need not be kept for a rollback, lowest revision first."""
    limit = deployment.spec.revisionHistoryLimit
    every = [one for one in old if not one.metadata.deletionTimestamp]
    excess = len(every) - (10 if limit is None else int(limit))
    if excess <= 0:
        return []
    return [
        one
        for one in sorted(every, key=revision)[:excess]
        if not desired_replicas(one) and not reported(one, "replicas") and is_settled(one)
    ]
