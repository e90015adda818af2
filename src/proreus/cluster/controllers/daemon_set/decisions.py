"""On which nodes pods of a DaemonSet are created, deleted or updated next. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from proreus.api.json_types import JsonObject
from proreus.api.object import KubeObject
from proreus.api.values.int_or_string import scaled
from proreus.client import conditions
from proreus.cluster.controllers.controller_revisions import POD_LABEL
from proreus.cluster.controllers.daemon_set.nodes import NOWHERE, Fit, node_of
from proreus.cluster.pod_status import created_at, is_available, is_deleting, is_finished, is_ready


@dataclass(frozen=True, slots=True)
class Plan:
    """``start``: nodes. ``ended``: pods that are over and in the way of the next."""

    start: tuple[str, ...] = ()
    stop: tuple[KubeObject, ...] = ()
    ended: tuple[KubeObject, ...] = ()


@dataclass(frozen=True, slots=True)
class DaemonSetState:
    """``update``: the template hash that pods should have."""

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


def plan(state: DaemonSetState) -> Plan:
    """Missing pods are created and misplaced ones deleted at once; then outdated ones are updated,
    within the limits."""
    start: list[str] = []
    stop: list[KubeObject] = []
    ended: list[KubeObject] = []
    settled: dict[str, _Pair] = {}
    by_node: dict[str, list[KubeObject]] = {}
    for pod in state.pods:
        by_node.setdefault(node_of(pod), []).append(pod)
    for node in sorted({*state.fits, *by_node}):
        decided = state.fits.get(node, NOWHERE)
        there = [pod for pod in by_node.get(node, []) if not is_deleting(pod)]
        ended += (pod for pod in there if is_finished(pod))
        running = sorted((p for p in there if not is_finished(p)), key=created_at)
        if not decided.may_stay:
            stop += running
        elif running:
            settled[node] = pair = _kept(state, running)
            stop += (pod for pod in running if pod not in pair.present)
        elif decided.may_begin and not by_node.get(node):
            start.append(node)
    if not start and not stop:
        return replace(_update(state, settled), ended=tuple(ended))
    return Plan(tuple(start), tuple(stop), tuple(ended))


def _kept(state: DaemonSetState, running: list[KubeObject]) -> _Pair:
    """Without surge the oldest pod of a node; with it the oldest of either template, until the new
    one can do the work or the old one does not."""
    if not _limits(state)[0]:
        running = running[:1]
    new = next((pod for pod in running if state.is_new(pod)), None)
    old = next((pod for pod in running if not state.is_new(pod)), None)
    if old is not None and new is not None and (state.is_up(new) or not is_ready(old)):
        old = None
    return _Pair(old, new)


def _limits(state: DaemonSetState) -> tuple[int, int]:
    """maxSurge and maxUnavailable as numbers; never both 0."""
    strategy = state.daemon_set.spec.updateStrategy or {}
    if strategy.get("type") == "OnDelete":
        return 0, 0
    rolling, desired = strategy.get("rollingUpdate") or {}, len(state.wanted)
    surge = scaled(rolling.get("maxSurge") or 0, desired, round_up=True)
    limit = rolling.get("maxUnavailable")
    unavailable = scaled(1 if limit is None else limit, desired, round_up=True)
    return surge, unavailable if surge else max(1, unavailable)


def _update(state: DaemonSetState, settled: Mapping[str, _Pair]) -> Plan:
    """The next outdated pods; those that are unavailable do not count against the limits."""
    if (state.daemon_set.spec.updateStrategy or {}).get("type") == "OnDelete":
        return Plan()
    old = {node: pair.old for node, pair in settled.items() if pair.old and not pair.new}
    unavailable_nodes = [node for node, pod in old.items() if not state.is_up(pod)]
    available_nodes = [node for node in old if node not in unavailable_nodes]
    surge, unavailable = _limits(state)
    if surge:
        rising = sum(pair.old is not None and pair.new is not None for pair in settled.values())
        return Plan(start=(*unavailable_nodes, *available_nodes[: max(0, surge - rising)]))
    up = sum(any(map(state.is_up, pair.present)) for pair in settled.values())
    room = max(0, unavailable - max(0, len(state.wanted) - up))
    return Plan(stop=tuple(old[node] for node in (*unavailable_nodes, *available_nodes[:room])))


def status_of(state: DaemonSetState, collisions: int) -> JsonObject:
    there: dict[str, KubeObject] = {}
    for pod in sorted(state.pods, key=created_at, reverse=True):
        if not is_deleting(pod) and not is_finished(pod):
            there[node_of(pod)] = pod
    wanted = state.wanted
    right = [pod for node, pod in there.items() if node in wanted]
    available = sum(map(state.is_up, right))
    status: JsonObject = {
        "currentNumberScheduled": len(right),
        "numberMisscheduled": len(there) - len(right),
        "desiredNumberScheduled": len(wanted),
        "numberReady": sum(is_ready(pod) for pod in right),
        "observedGeneration": state.daemon_set.metadata.generation or 0,
    }
    more = {
        "updatedNumberScheduled": sum(map(state.is_new, right)),
        "numberAvailable": available,
        "numberUnavailable": len(wanted) - available,
        "collisionCount": collisions,
    }
    status |= {field: number for field, number in more.items() if number}
    return {**status, **conditions.foreign_conditions(state.daemon_set)}
