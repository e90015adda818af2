"""The steps of a rollout: which ReplicaSet becomes how large. Pure; one direction per step.

Invariant: as long as reported availability is true, no step lets the available pods fall below
``Fences.least_available``, nor all pods rise above ``Fences.most``.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from proreus.api.object import KubeObject
from proreus.cluster.controllers.deployment.replica_sets import (
    MAXIMUM,
    Fences,
    available,
    by_age,
    is_settled,
    reported,
    size,
    total,
)
from proreus.cluster.controllers.pod_template import created_at


@dataclass(frozen=True, slots=True)
class Scaling:
    """Make this ReplicaSet so large."""

    replica_set: KubeObject
    to: int


def first_size(fence: Fences, old: Sequence[KubeObject], *, recreate: bool) -> int:
    """How large a new ReplicaSet is made."""
    if recreate:
        return fence.replicas
    return max(0, min(_room(fence, old), fence.replicas))


def scale_up(fence: Fences, new: KubeObject, old: Sequence[KubeObject]) -> list[Scaling]:
    present = size(new)
    if present == fence.replicas:
        return []
    if present > fence.replicas:
        return [Scaling(new, fence.replicas)]
    grown = min(_room(fence, old, new), fence.replicas - present)
    return [Scaling(new, present + grown)] if grown > 0 else []


def _room(fence: Fences, old: Sequence[KubeObject], new: KubeObject | None = None) -> int:
    """Old ReplicaSets may still have the pods they had before they were resized, so nothing grows
    before they have settled; their events bring the Deployment back."""
    if not all(is_settled(one) for one in old):
        return 0
    taken = 0 if new is None else max(size(new), reported(new, "replicas"))
    return fence.replicas + fence.surge - total(old) - taken


def scale_down(fence: Fences, new: KubeObject, old: Sequence[KubeObject]) -> list[Scaling]:
    """Unhealthy pods of old ReplicaSets first, since nobody misses them; then healthy ones."""
    every = [*old, new]
    budget = total(every) - fence.least_available - max(0, size(new) - available(new))
    if not total(old) or budget <= 0:
        return []
    sizes = {one.uid: size(one) for one in old}
    for one in by_age(old):
        unhealthy = min(size(one) - available(one), budget)
        sizes[one.uid] -= unhealthy
        budget -= unhealthy
    spare = min(sum(available(one) for one in every) - fence.least_available, budget)
    for one in by_age(old):
        gone = max(0, min(sizes[one.uid], spare))
        sizes[one.uid] -= gone
        spare -= gone
    return [Scaling(one, sizes[one.uid]) for one in old if sizes[one.uid] != size(one)]


def all_to_zero(replica_sets: Sequence[KubeObject]) -> list[Scaling]:
    return [Scaling(one, 0) for one in replica_sets if size(one)]


def proportional(fence: Fences, new: KubeObject | None, old: Sequence[KubeObject]) -> list[Scaling]:
    """Another number of replicas was asked for while a rollout was under way, or is paused: every
    ReplicaSet takes its share of the difference."""
    every = [*old, new] if new is not None else list(old)
    active = [one for one in every if size(one)]
    if len(active) <= 1:
        only = active[0] if active else (new or (by_age(every)[-1] if every else None))
        if only is None or size(only) == fence.replicas:
            return []
        return [Scaling(only, fence.replicas)]
    if new is not None and _is_saturated(new, fence):
        return all_to_zero(old)
    to_add = fence.most - total(active)
    return _shared(fence, active, to_add)


def _shared(fence: Fences, active: Sequence[KubeObject], to_add: int) -> list[Scaling]:
    direction = -1 if to_add > 0 else 1
    ranked = sorted(active, key=lambda one: (-size(one), direction * created_at(one), one.name))
    sizes: list[int] = []
    left = to_add
    for one in ranked:
        share = _share(fence, one) if left else 0
        share = min(share, left) if to_add > 0 else max(share, left)
        share = max(0, share) if to_add > 0 else min(0, share)
        sizes.append(size(one) + share)
        left -= share
    if sizes:
        sizes[0] = max(0, sizes[0] + left)
    return [Scaling(one, to) for one, to in zip(ranked, sizes, strict=True) if to != size(one)]


def _share(fence: Fences, replica_set: KubeObject) -> int:
    """How much it changes if it keeps its part of the whole."""
    if not fence.replicas:
        return -size(replica_set)
    text = replica_set.annotations.get(MAXIMUM, "")
    before = int(text) if text.isdecimal() else 0
    if not before:
        return 0
    return round(size(replica_set) * fence.most / before) - size(replica_set)


def _is_saturated(replica_set: KubeObject, fence: Fences) -> bool:
    return size(replica_set) == fence.replicas == reported(replica_set, "availableReplicas")
