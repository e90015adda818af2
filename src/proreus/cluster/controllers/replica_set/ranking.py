"""Which pods are deleted first when there are too many: least ready, lowest cost, newest."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from math import log2
from typing import Any

from proreus.api.object import KubeObject
from proreus.cluster.pod_status import created_at, is_ready, phase, ready_since, restarts

COST_ANNOTATION = "controller.kubernetes.io/pod-deletion-cost"
_PHASES = {"Pending": 0, "Unknown": 1, "Running": 2}


def first_to_delete(
    pods: Iterable[KubeObject], count: int, related: Iterable[KubeObject], now: float
) -> list[KubeObject]:
    """``count`` of ``pods``. ``related`` are the active pods of all ReplicaSets of the same owner:
    nodes on which many of them run are relieved first."""
    crowd = Counter(node(pod) for pod in related if node(pod))
    return sorted(pods, key=lambda pod: _rank(pod, crowd, now))[:count]


def node(pod: KubeObject) -> str:
    return str(pod.spec.nodeName or "")


def _rank(pod: KubeObject, crowd: Counter[str], now: float) -> tuple[Any, ...]:
    is_up = is_ready(pod)
    since = ready_since(pod)
    return (
        bool(node(pod)),
        _PHASES.get(phase(pod), 0),
        is_up,
        _cost(pod),
        -crowd[node(pod)],
        _age_bucket(since, now) if is_up else 0,
        -restarts(pod),
        _age_bucket(created_at(pod), now),
        pod.uid,
    )


def _cost(pod: KubeObject) -> int:
    try:
        return int(pod.annotations.get(COST_ANNOTATION, "0"))
    except ValueError:
        return 0


def _age_bucket(since: float | None, now: float) -> int:
    """Ages that differ by less than a factor of two count as the same, so that of pods made
    together not always the same one is deleted."""
    age = now - since if since is not None else 0.0
    return int(log2(age)) + 1 if age >= 1 else 0
