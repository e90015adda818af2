"""A taint keeps away the pods that do not tolerate it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from proreus.api.json_types import Json
from proreus.cluster.scheduler.node import NodeState
from proreus.cluster.scheduler.pod import PodView

_HARD = ("NoSchedule", "NoExecute")
_REASON = "node(s) had untolerated taint(s)"


def node_filter(pod: PodView) -> Callable[[NodeState], str | None] | None:
    tolerations = pod.tolerations

    def refuse(node: NodeState) -> str | None:
        if not node.taints:
            return None
        return _REASON if is_kept_away(node, tolerations) else None

    return refuse


def is_kept_away(node: NodeState, tolerations: Sequence[Json]) -> bool:
    return any(True for _ in untolerated(node.taints, tolerations, _HARD))


def untolerated(
    taints: Iterable[Json], tolerations: Sequence[Json], effects: Sequence[str]
) -> Iterable[Json]:
    for taint in taints:
        if taint.get("effect") in effects and not tolerates(tolerations, taint):
            yield taint


def tolerates(tolerations: Iterable[Json], taint: Json) -> bool:
    return any(_matches(toleration, taint) for toleration in tolerations)


def _matches(toleration: Json, taint: Json) -> bool:
    effect, key = toleration.get("effect"), toleration.get("key")
    if effect and effect != taint.get("effect"):
        return False
    if key and key != taint.get("key"):
        return False
    if toleration.get("operator") == "Exists":
        return True
    # An empty key is only meaningful with Exists; validation refuses it otherwise.
    return bool(key) and (toleration.get("value") or "") == (taint.get("value") or "")
