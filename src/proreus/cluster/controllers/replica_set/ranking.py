"""Which pods are deleted first when there are too many: least ready, lowest cost, newest."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from math import log2
from typing import Any

import msgspec

from proreus.api.values.timestamp import parse_time
from proreus.cluster.controllers.replica_set.pod_summaries import PodSummary

COST_ANNOTATION = "controller.kubernetes.io/pod-deletion-cost"
_PHASES = {"Pending": 0, "Unknown": 1, "Running": 2}


class _Metadata(msgspec.Struct, gc=False):
    creationTimestamp: str | None = None
    annotations: dict[str, Any] | None = None


class _Container(msgspec.Struct, gc=False):
    restartCount: int | None = None


class _Status(msgspec.Struct, gc=False):
    containerStatuses: list[_Container] | None = None


class _Pod(msgspec.Struct, gc=False):
    metadata: _Metadata = msgspec.field(default_factory=_Metadata)
    status: _Status = msgspec.field(default_factory=_Status)


_decode = msgspec.json.Decoder(_Pod).decode


def first_to_delete(
    pods: Iterable[PodSummary], count: int, related: Iterable[PodSummary], now: float
) -> list[PodSummary]:
    """``count`` of ``pods``. ``related`` are the active pods of all ReplicaSets of the same owner:
    nodes on which many of them run are relieved first."""
    crowd = Counter(one.node for one in related if one.node)
    return sorted(pods, key=lambda one: _rank(one, crowd, now))[:count]


def _rank(one: PodSummary, crowd: Counter[str], now: float) -> tuple[Any, ...]:
    content = _decode(one.pod.raw)
    created = content.metadata.creationTimestamp
    restarts = [container.restartCount or 0 for container in content.status.containerStatuses or ()]
    return (
        bool(one.node),
        _PHASES.get(one.phase, 0),
        one.is_ready,
        _cost(content.metadata.annotations or {}),
        -crowd[one.node],
        _age_bucket(one.ready_since, now) if one.is_ready else 0,
        -max(restarts, default=0),
        _age_bucket(parse_time(created) if created else 0.0, now),
        one.pod.uid,
    )


def _cost(annotations: dict[str, Any]) -> int:
    try:
        return int(annotations.get(COST_ANNOTATION, "0"))
    except (TypeError, ValueError):
        return 0


def _age_bucket(since: float | None, now: float) -> int:
    """Ages that differ by less than a factor of two count as the same, so that of pods made
    together not always the same one is deleted."""
    age = now - since if since is not None else 0.0
    return int(log2(age)) + 1 if age >= 1 else 0
