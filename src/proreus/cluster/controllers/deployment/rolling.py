"""The steps of a rollout: which ReplicaSet becomes how large. Pure; one direction per step.

Invariant: as long as reported availability is true, no step lets the available pods fall below
``RolloutLimits.min_available``, nor all pods rise above ``RolloutLimits.max_total``.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from proreus.api.object import KubeObject
from proreus.cluster.controllers.deployment.replica_sets import (
    MAXIMUM,
    RolloutLimits,
    available,
    by_age,
    is_settled,
    reported,
    total,
)
from proreus.cluster.controllers.pod_template import desired_replicas
from proreus.cluster.pod_status import created_at


@dataclass(frozen=True, slots=True)
class ReplicaSetScaling:
    """Make this ReplicaSet so large."""

    replica_set: KubeObject
    to: int


def initial_size(limits: RolloutLimits, old: Sequence[KubeObject], *, recreate: bool) -> int:
    """How large a new ReplicaSet is made."""
    if recreate:
        return limits.replicas
    return max(0, min(_room(limits, old), limits.replicas))


def scale_up(
    limits: RolloutLimits, new: KubeObject, old: Sequence[KubeObject]
) -> list[ReplicaSetScaling]:
    present = desired_replicas(new)
    if present == limits.replicas:
        return []
    if present > limits.replicas:
        return [ReplicaSetScaling(new, limits.replicas)]
    grown = min(_room(limits, old, new), limits.replicas - present)
    return [ReplicaSetScaling(new, present + grown)] if grown > 0 else []


def _room(limits: RolloutLimits, old: Sequence[KubeObject], new: KubeObject | None = None) -> int:
    """Old ReplicaSets may still have the pods they had before they were resized, so nothing grows
    before they have settled; their events bring the Deployment back."""
    if not all(is_settled(one) for one in old):
        return 0
    taken = 0 if new is None else max(desired_replicas(new), reported(new, "replicas"))
    return limits.replicas + limits.surge - total(old) - taken


def scale_down(
    limits: RolloutLimits, new: KubeObject, old: Sequence[KubeObject]
) -> list[ReplicaSetScaling]:
    """Unhealthy pods of old ReplicaSets first, since they serve no request; then healthy ones."""
    every = [*old, new]
    budget = total(every) - limits.min_available - max(0, desired_replicas(new) - available(new))
    if not total(old) or budget <= 0:
        return []
    sizes = {one.uid: desired_replicas(one) for one in old}
    for one in by_age(old):
        unhealthy = min(desired_replicas(one) - available(one), budget)
        sizes[one.uid] -= unhealthy
        budget -= unhealthy
    spare = min(sum(available(one) for one in every) - limits.min_available, budget)
    for one in by_age(old):
        gone = max(0, min(sizes[one.uid], spare))
        sizes[one.uid] -= gone
        spare -= gone
    return [
        ReplicaSetScaling(one, sizes[one.uid])
        for one in old
        if sizes[one.uid] != desired_replicas(one)
    ]


def all_to_zero(replica_sets: Sequence[KubeObject]) -> list[ReplicaSetScaling]:
    return [ReplicaSetScaling(one, 0) for one in replica_sets if desired_replicas(one)]


def proportional(
    limits: RolloutLimits, new: KubeObject | None, old: Sequence[KubeObject]
) -> list[ReplicaSetScaling]:
    """Another number of replicas was asked for while a rollout was under way, or is paused: every
    ReplicaSet takes its share of the difference."""
    every = [*old, new] if new is not None else list(old)
    active = [one for one in every if desired_replicas(one)]
    if len(active) <= 1:
        only = active[0] if active else (new or (by_age(every)[-1] if every else None))
        if only is None or desired_replicas(only) == limits.replicas:
            return []
        return [ReplicaSetScaling(only, limits.replicas)]
    if new is not None and _is_saturated(new, limits):
        return all_to_zero(old)
    to_add = limits.max_total - total(active)
    return _shared(limits, active, to_add)


def _shared(
    limits: RolloutLimits, active: Sequence[KubeObject], to_add: int
) -> list[ReplicaSetScaling]:
    direction = -1 if to_add > 0 else 1
    ranked = sorted(
        active, key=lambda one: (-desired_replicas(one), direction * created_at(one), one.name)
    )
    sizes: list[int] = []
    left = to_add
    for one in ranked:
        share = _share(limits, one) if left else 0
        share = min(share, left) if to_add > 0 else max(share, left)
        share = max(0, share) if to_add > 0 else min(0, share)
        sizes.append(desired_replicas(one) + share)
        left -= share
    if sizes:
        sizes[0] = max(0, sizes[0] + left)
    return [
        ReplicaSetScaling(one, to)
        for one, to in zip(ranked, sizes, strict=True)
        if to != desired_replicas(one)
    ]


def _share(limits: RolloutLimits, replica_set: KubeObject) -> int:
    """How much it changes if it keeps its part of the whole."""
    if not limits.replicas:
        return -desired_replicas(replica_set)
    text = replica_set.annotations.get(MAXIMUM, "")
    before = int(text) if text.isdecimal() else 0
    if not before:
        return 0
    return round(desired_replicas(replica_set) * limits.max_total / before) - desired_replicas(
        replica_set
    )


def _is_saturated(replica_set: KubeObject, limits: RolloutLimits) -> bool:
    return (
        desired_replicas(replica_set)
        == limits.replicas
        == reported(replica_set, "availableReplicas")
    )
