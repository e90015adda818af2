"""What content remains in a namespace: its conditions, and when to retry. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from proreus.api.frozen import thaw
from proreus.api.json_types import JsonObject
from proreus.api.object import KubeObject
from proreus.client import conditions
from proreus.client.conditions import Condition

FINALIZER = "kubernetes"
_FINALIZER_ESTIMATE_S = 15.0


@dataclass(frozen=True, slots=True)
class Remaining:
    """Of one resource: how many objects, which finalizers hold how many, how long they may take."""

    resource: str
    count: int
    finalizers: tuple[tuple[str, int], ...] = ()
    estimate_s: float = 0.0


def remaining_of(resource: str, objects: Sequence[KubeObject]) -> Remaining:
    held = Counter(name for obj in objects for name in obj.metadata.finalizers or ())
    graces = [obj.metadata.deletionGracePeriodSeconds or 0 for obj in objects]
    estimate_s = float(max(graces, default=0))
    if held:
        estimate_s = max(estimate_s, _FINALIZER_ESTIMATE_S)
    return Remaining(resource, len(objects), tuple(sorted(held.items())), estimate_s)


def requeue_after_s(left: Iterable[Remaining]) -> float | None:
    """Half the time the slowest needs; None if nothing is known to take time, so that what stays
    without a reason is an error."""
    longest = max((one.estimate_s for one in left), default=0.0)
    return longest / 2 + 1 if longest else None


def has_finalizer(namespace: KubeObject) -> bool:
    return FINALIZER in ((namespace.spec or {}).get("finalizers") or ())


def without_finalizer(namespace: KubeObject) -> JsonObject:
    content = namespace.to_dict()
    present = content["spec"].get("finalizers") or ()
    content["spec"]["finalizers"] = [name for name in present if name != FINALIZER]
    return content


def status_of(
    namespace: KubeObject,
    left: Sequence[Remaining],
    discovery_failures: Sequence[str],
    failures: Sequence[str],
    now: float,
) -> JsonObject:
    status: JsonObject = thaw(namespace.status or {})
    found: list[Condition] = status.get("conditions") or []
    for made in _conditions(left, discovery_failures, failures, now):
        found = conditions.with_condition(found, made)
    return {**status, "phase": "Terminating", "conditions": found}


def _conditions(
    left: Sequence[Remaining],
    discovery_failures: Sequence[str],
    failures: Sequence[str],
    now: float,
) -> Iterable[Condition]:
    def made(kind: str, why: Sequence[str], bad: str, good: str, text: str) -> Condition:
        status, reason = ("True", bad) if why else ("False", good)
        message = f"{text}: {', '.join(why)}" if why else text
        return conditions.condition(kind, status, reason, message, now)

    there = [f"{one.resource} has {one.count} resource instances" for one in left if one.count]
    held = [f"{name} in {count} resource instances" for one in left
            for name, count in one.finalizers]  # fmt: skip
    yield made(
        "NamespaceDeletionDiscoveryFailure", discovery_failures, "DiscoveryFailed",
        "ResourcesDiscovered", "Discovery of the resources to delete",
    )  # fmt: skip
    yield made(
        "NamespaceDeletionContentFailure", failures, "ContentDeletionFailed",
        "ContentDeleted", "Deletion of the content",
    )  # fmt: skip
    yield made(
        "NamespaceContentRemaining", there, "SomeResourcesRemain",
        "ContentRemoved", "Some resources are remaining" if there else "All content was removed",
    )  # fmt: skip
    yield made(
        "NamespaceFinalizersRemaining", held, "SomeFinalizersRemain", "ContentHasNoFinalizers",
        "Some content has finalizers remaining" if held else "No finalizers hold content",
    )  # fmt: skip
