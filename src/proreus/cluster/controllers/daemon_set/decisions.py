"""Which nodes get a pod of a DaemonSet, which pods go, in which order they are renewed. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from proreus.api.object import KubeObject
from proreus.api.values.int_or_string import scaled
from proreus.cluster.controllers.controller_revisions import POD_LABEL
from proreus.cluster.controllers.daemon_set.nodes import NOWHERE, Fit, node_of
from proreus.cluster.controllers.ownership import is_deleting
from proreus.cluster.controllers.pod_template import (
    created_at,
    is_available,
    is_finished,
    is_ready,
)


@dataclass(frozen=True, slots=True)
class Plan:
    """``start``: nodes. ``ended``: pods that are over and in the way of the next."""

    start: tuple[str, ...] = ()
    stop: tuple[KubeObject, ...] = ()
    ended: tuple[KubeObject, ...] = ()


@dataclass(frozen=True, slots=True)
class Moment:
    """A DaemonSet, its nodes and its pods as they stand. ``update``: the hash pods should have."""

    daemon_set: KubeObject
    fits: Mapping[str, Fit]
    pods: Sequence[KubeObject]
    update: str
    now: float

    @property
    def wanted(self) -> set[str]:
        return {node for node, decided in self.fits.items() if decided.may_begin}

    def is_new(self, pod: KubeObject) -> bool:
        return pod.labels.get(POD_LABEL) == self.update

    def is_up(self, pod: KubeObject) -> bool:
        return is_available(pod, self.daemon_set.spec.minReadySeconds or 0, self.now)


@dataclass(frozen=True, slots=True)
class _Pair:
    """The pods that stay on a node: the oldest one of an old template, and one of the new."""

    old: KubeObject | None
    new: KubeObject | None

    @property
    def present(self) -> list[KubeObject]:
        return [pod for pod in (self.old, self.new) if pod is not None]


def plan(moment: Moment) -> Plan:
    """Missing pods begin and wrong ones go at once; outdated ones a few at a time, after that."""
    start: list[str] = []
    stop: list[KubeObject] = []
    ended: list[KubeObject] = []
    settled: dict[str, _Pair] = {}
    by_node: dict[str, list[KubeObject]] = {}
    for pod in moment.pods:
        by_node.setdefault(node_of(pod), []).append(pod)
    for node in sorted({*moment.fits, *by_node}):
        decided = moment.fits.get(node, NOWHERE)
        there = [pod for pod in by_node.get(node, []) if not is_deleting(pod)]
        ended += (pod for pod in there if is_finished(pod))
        running = sorted((p for p in there if not is_finished(p)), key=created_at)
        if not decided.may_stay:
            stop += running
        elif running:
            settled[node] = pair = _kept(moment, running)
            stop += (pod for pod in running if pod not in pair.present)
        elif decided.may_begin and not by_node.get(node):
            start.append(node)
    if not start and not stop:
        return replace(_update(moment, settled), ended=tuple(ended))
    return Plan(tuple(start), tuple(stop), tuple(ended))


def _kept(moment: Moment, running: list[KubeObject]) -> _Pair:
    """Without surge the oldest pod of a node; with it the oldest of either template, until the new
    one can do the work or the old one does not."""
    if not _limits(moment)[0]:
        running = running[:1]
    new = next((pod for pod in running if moment.is_new(pod)), None)
    old = next((pod for pod in running if not moment.is_new(pod)), None)
    if old is not None and new is not None and (moment.is_up(new) or not is_ready(old)):
        old = None
    return _Pair(old, new)


def _limits(moment: Moment) -> tuple[int, int]:
    """maxSurge and maxUnavailable as numbers; never both 0."""
    strategy = moment.daemon_set.spec.updateStrategy or {}
    if strategy.get("type") == "OnDelete":
        return 0, 0
    rolling, desired = strategy.get("rollingUpdate") or {}, len(moment.wanted)
    surge = scaled(rolling.get("maxSurge") or 0, desired, round_up=True)
    limit = rolling.get("maxUnavailable")
    unavailable = scaled(1 if limit is None else limit, desired, round_up=True)
    return surge, unavailable if surge else max(1, unavailable)


def _update(moment: Moment, settled: Mapping[str, _Pair]) -> Plan:
    """The next outdated pods. What does not work anyway is replaced without asking."""
    if (moment.daemon_set.spec.updateStrategy or {}).get("type") == "OnDelete":
        return Plan()
    old = {node: pair.old for node, pair in settled.items() if pair.old and not pair.new}
    lame = [node for node, pod in old.items() if not moment.is_up(pod)]
    sound = [node for node in old if node not in lame]
    surge, unavailable = _limits(moment)
    if surge:
        rising = sum(pair.old is not None and pair.new is not None for pair in settled.values())
        return Plan(start=(*lame, *sound[: max(0, surge - rising)]))
    up = sum(any(map(moment.is_up, pair.present)) for pair in settled.values())
    room = max(0, unavailable - max(0, len(moment.wanted) - up))
    return Plan(stop=tuple(old[node] for node in (*lame, *sound[:room])))


def status_of(moment: Moment, collisions: int) -> dict[str, Any]:
    there: dict[str, KubeObject] = {}
    for pod in sorted(moment.pods, key=created_at, reverse=True):
        if not is_deleting(pod) and not is_finished(pod):
            there[node_of(pod)] = pod
    wanted = moment.wanted
    right = [pod for node, pod in there.items() if node in wanted]
    available = sum(map(moment.is_up, right))
    status: dict[str, Any] = {
        "currentNumberScheduled": len(right),
        "numberMisscheduled": len(there) - len(right),
        "desiredNumberScheduled": len(wanted),
        "numberReady": sum(is_ready(pod) for pod in right),
        "observedGeneration": moment.daemon_set.metadata.generation or 0,
    }
    more = {
        "updatedNumberScheduled": sum(map(moment.is_new, right)),
        "numberAvailable": available,
        "numberUnavailable": len(wanted) - available,
        "collisionCount": collisions,
    }
    return {**status, **{field: number for field, number in more.items() if number}}
