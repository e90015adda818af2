"""Which pods of a StatefulSet are created, deleted or recreated next. Pure.

With OrderedReady one pod changes at a time: the lowest ordinal that is missing or not available
comes before anything else, and the highest is deleted first. With Parallel all change at
once; only a rolling update still keeps to ``maxUnavailable``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from proreus.api.json_types import Json, JsonObject
from proreus.api.object import KubeObject
from proreus.api.values.int_or_string import scaled
from proreus.client import conditions
from proreus.cluster.controllers.stateful_set.identity import ordinal_of, ordinals, revision_of
from proreus.cluster.pod_status import is_available, is_deleting, is_finished, is_ready, phase

Pods = tuple[KubeObject, ...]


@dataclass(frozen=True, slots=True)
class Plan:
    """``create``: numbers. ``recreate``: pods that ended and are deleted to be made again."""

    create: tuple[int, ...] = ()
    delete: Pods = ()
    recreate: Pods = ()


@dataclass(frozen=True, slots=True)
class StatefulSetState:
    """``update``: the revision that pods should have."""

    stateful_set: KubeObject
    members: Mapping[int, KubeObject]
    update: str
    now: float

    @property
    def is_ordered(self) -> bool:
        return bool(self.stateful_set.spec.podManagementPolicy != "Parallel")

    @property
    def condemned(self) -> list[int]:
        """Ordinals beyond those wanted, the highest first."""
        return sorted(set(self.members) - set(ordinals(self.stateful_set)), reverse=True)

    def is_up(self, pod: KubeObject | None) -> bool:
        """Available: ready for long enough and not on its way out."""
        min_ready_s = self.stateful_set.spec.minReadySeconds or 0
        return (
            pod is not None and is_running(pod) and not is_deleting(pod)
            and is_available(pod, min_ready_s, self.now)
        )  # fmt: skip


def is_running(pod: KubeObject) -> bool:
    return phase(pod) == "Running" and is_ready(pod)


def members(stateful_set: KubeObject, pods: Sequence[KubeObject]) -> dict[int, KubeObject]:
    """Pods by number. Those with other names are not of this set."""
    found = {ordinal_of(stateful_set, pod.name): pod for pod in pods}
    return {ordinal: pod for ordinal, pod in found.items() if ordinal is not None}


def plan(state: StatefulSetState) -> Plan:
    if is_deleting(state.stateful_set):
        return Plan()
    return _next_step(state) if state.is_ordered else _all_at_once(state)


def _next_step(state: StatefulSetState) -> Plan:
    for ordinal in ordinals(state.stateful_set):
        pod = state.members.get(ordinal)
        if pod is None:
            return Plan(create=(ordinal,))
        if is_finished(pod) and not is_deleting(pod):
            return Plan(recreate=(pod,))
        if not state.is_up(pod):
            return Plan()
    condemned = [state.members[ordinal] for ordinal in state.condemned]
    if condemned:
        # A pod that was never available may be deleted before its turn, if it is the only such one.
        down = [pod for pod in condemned if not state.is_up(pod)]
        first = condemned[0]
        may_go = not is_deleting(first) and (not down or down[-1] is first)
        return Plan(delete=(first,) if may_go else ())
    return Plan(delete=outdated(state))


def _all_at_once(state: StatefulSetState) -> Plan:
    wanted = ordinals(state.stateful_set)
    missing = tuple(ordinal for ordinal in wanted if ordinal not in state.members)
    present = [state.members[ordinal] for ordinal in wanted if ordinal in state.members]
    ended = tuple(pod for pod in present if is_finished(pod) and not is_deleting(pod))
    condemned = [state.members[ordinal] for ordinal in state.condemned]
    going = tuple(pod for pod in condemned if not is_deleting(pod))
    # An update waits until every number has a pod, or it would count the missing ones twice.
    old = () if missing or ended else outdated(state)
    return Plan(missing, (*going, *old), ended)


def outdated(state: StatefulSetState) -> Pods:
    """Pods to be renewed by a rolling update: the highest first, never below the partition, and
    no more than may be missing. What does not work anyway costs nothing."""
    strategy = state.stateful_set.spec.updateStrategy or {}
    if strategy.get("type") == "OnDelete":
        return ()
    wanted = ordinals(state.stateful_set)
    down = [ordinal for ordinal in wanted if not state.is_up(state.members.get(ordinal))]
    room = max_unavailable(strategy, len(wanted)) - len(down)
    found: list[KubeObject] = []
    for ordinal in reversed(wanted):
        pod = state.members.get(ordinal)
        if ordinal < wanted.start + partition(strategy):
            break
        if pod is None or is_deleting(pod) or revision_of(pod) == state.update:
            continue
        if ordinal in down:
            found.append(pod)
        elif room > 0:
            found.append(pod)
            room -= 1
    return tuple(found)


def partition(strategy: Json) -> int:
    return int((strategy.get("rollingUpdate") or {}).get("partition") or 0)


def max_unavailable(strategy: Json, replicas: int) -> int:
    limit = (strategy.get("rollingUpdate") or {}).get("maxUnavailable")
    return max(1, scaled(1 if limit is None else limit, replicas, round_up=False))


def is_below_partition(stateful_set: KubeObject, ordinal: int) -> bool:
    """Whether a new pod of this number is made from the current revision, not from the update."""
    strategy = stateful_set.spec.updateStrategy or {}
    if strategy.get("type") == "OnDelete":
        return False
    return ordinal < ordinals(stateful_set).start + partition(strategy)


def status_of(state: StatefulSetState, current: str, collisions: int) -> JsonObject:
    """``current``: the revision pods have had until now; the update's once all have changed."""
    pods, stateful_set = list(state.members.values()), state.stateful_set
    min_ready_s = stateful_set.spec.minReadySeconds or 0
    lasting = [pod for pod in pods if not is_deleting(pod)]
    running = [pod for pod in pods if is_running(pod)]
    updated = sum(revision_of(pod) == state.update for pod in lasting)
    counts = {
        "readyReplicas": len(running),
        "currentReplicas": sum(revision_of(pod) == current for pod in lasting),
        "updatedReplicas": updated,
    }
    strategy = stateful_set.spec.updateStrategy or {}
    numbers = {len(ordinals(stateful_set)), len(pods), len(running), updated}
    if strategy.get("type") != "OnDelete" and len(numbers) == 1:
        current, counts["currentReplicas"] = state.update, updated
    return {
        "replicas": len(pods),
        "availableReplicas": sum(is_available(p, min_ready_s, state.now) for p in running),
        **{field: count for field, count in counts.items() if count},
        "currentRevision": current,
        "updateRevision": state.update,
        "collisionCount": collisions,
        "observedGeneration": stateful_set.metadata.generation or 0,
        **conditions.foreign_conditions(stateful_set),
    }
