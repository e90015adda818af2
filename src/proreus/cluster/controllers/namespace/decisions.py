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
        found = _with(found, made)
    return {**status, "phase": "Terminating", "conditions": found}


def _with(found: list[Condition], new: Condition) -> list[Condition]:
    """What remains changes while the reason stays, and is what people wait for: the message is
    always the present one."""
    old = conditions.among(found, new["type"])
    if old is None:
        return [*found, new]
    if old.get("status") == new["status"]:
        new = {**new, "lastTransitionTime": old.get("lastTransitionTime")}
    return [new if one is old else one for one in found]


def _conditions(
    left: Sequence[Remaining],
    discovery_failures: Sequence[str],
    failures: Sequence[str],
    now: float,
) -> Iterable[Condition]:
    def made(kind: str, bad: tuple[str, str], good: tuple[str, str]) -> Condition:
        status, (reason, message) = ("True", bad) if bad[1] else ("False", good)
        return conditions.condition(kind, status, reason, message, now)

    yield made(
        "NamespaceDeletionDiscoveryFailure",
        (
            "DiscoveryFailed",
            _counted("Discovery failed for some groups, {} failing", discovery_failures),
        ),
        ("ResourcesDiscovered", "All resources successfully discovered"),
    )
    yield made(
        "NamespaceDeletionGroupVersionParsingFailure",
        ("GroupVersionParsingFailed", ""),
        ("ParsedGroupVersions", "All legacy kube types successfully parsed"),
    )
    yield made(
        "NamespaceDeletionContentFailure",
        (
            "ContentDeletionFailed",
            _counted("Failed to delete all resource types, {} remaining", failures),
        ),
        ("ContentDeleted", "All content successfully deleted, may be waiting on finalization"),
    )
    yield made(
        "NamespaceContentRemaining",
        ("SomeResourcesRemain", _there(left)),
        ("ContentRemoved", "All content successfully removed"),
    )
    yield made(
        "NamespaceFinalizersRemaining",
        ("SomeFinalizersRemain", _held(left)),
        ("ContentHasNoFinalizers", "All content-preserving finalizers finished"),
    )


def _counted(text: str, failures: Sequence[str]) -> str:
    return f"{text.format(len(failures))}: {', '.join(failures)}" if failures else ""


def _there(left: Sequence[Remaining]) -> str:
    found = sorted(
        f"{one.resource} has {one.count} resource instances" for one in left if one.count
    )
    return f"Some resources are remaining: {', '.join(found)}" if found else ""


def _held(left: Sequence[Remaining]) -> str:
    total: Counter[str] = Counter()
    for one in left:
        total.update(dict(one.finalizers))
    found = [f"{name} in {count} resource instances" for name, count in sorted(total.items())]
    text = "Some content in the namespace has finalizers remaining"
    return f"{text}: {', '.join(found)}" if found else ""
