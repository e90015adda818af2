"""What a Job needs next: pods to start, to stop, or to wait for. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from proreus.api.object import KubeObject
from proreus.api.values.timestamp import parse_time
from proreus.cluster.controllers.batches import BURST
from proreus.cluster.controllers.job.failure_policy import IGNORE, match_policy
from proreus.cluster.controllers.job.indexes import (
    failures_before,
    has_limit_per_index,
    ignored_before,
    index_of,
    is_indexed,
)
from proreus.cluster.controllers.job.outcome import deadline_s
from proreus.cluster.controllers.job.pod_counts import PodCounts, replaces_only_failed
from proreus.cluster.controllers.job.state import JobState
from proreus.cluster.pod_status import created_at, is_ready, phase

_BACKOFF_S, _BACKOFF_MAX_S = 10.0, 600.0


@dataclass(frozen=True, slots=True)
class Start:
    """A pod to begin. ``index`` None: of a Job without indexes. ``failures`` and ``ignored``: how
    often its index has failed before."""

    index: int | None = None
    failures: int = 0
    ignored: int = 0


@dataclass(frozen=True, slots=True)
class Plan:
    """``stop``: pods that are not needed any more, which is no failure of theirs.
    ``again_s``: when to look again."""

    start: tuple[Start, ...] = ()
    stop: tuple[KubeObject, ...] = ()
    again_s: float | None = None


def plan(state: JobState) -> Plan:
    job, counted, now = state.job, state.counted, state.now
    if state.outcome is not None or job.spec.suspend:
        return Plan(stop=counted.active)
    wanted, until_s = _wanted(job, counted), deadline_s(job, now)
    excess = _excess(job, counted, wanted)
    if excess:
        return Plan(stop=excess, again_s=until_s)
    occupied = len(counted.active)
    if replaces_only_failed(job):
        occupied += len(counted.terminating)
    missing = min(wanted - occupied, BURST)
    if missing <= 0:
        return Plan(again_s=until_s)
    if has_limit_per_index(job):
        return _starts_by_index(job, counted, missing, until_s, now)
    delay_s = backoff_s(state.pods, now)
    if delay_s:
        return Plan(again_s=_sooner(delay_s, until_s))
    if not is_indexed(job):
        return Plan(start=(Start(),) * missing, again_s=until_s)
    free = [Start(index) for index in _free(job, counted)]
    return Plan(start=tuple(free[:missing]), again_s=until_s)


def _wanted(job: KubeObject, counted: PodCounts) -> int:
    """How many pods should run now."""
    parallelism = 1 if job.spec.parallelism is None else int(job.spec.parallelism)
    if job.spec.completions is None:
        # Without a number of completions, one success means that the others need not begin.
        return min(parallelism, len(counted.active)) if counted.succeeded else parallelism
    left = int(job.spec.completions) - counted.succeeded - len(counted.failed_indexes)
    return max(0, min(parallelism, left))


def _excess(job: KubeObject, counted: PodCounts, wanted: int) -> tuple[KubeObject, ...]:
    """Active pods beyond the wanted ones, the least useful first; of an indexed Job first those
    whose index is done, taken or unknown."""
    ranked = sorted(counted.active, key=lambda pod: (is_ready(pod), -created_at(pod)))
    useless: list[KubeObject] = []
    if is_indexed(job):
        open_indexes = set(range(int(job.spec.completions or 0)))
        open_indexes -= counted.done_indexes | counted.failed_indexes
        for pod in reversed(ranked):
            if index_of(pod) in open_indexes:
                open_indexes.discard(index_of(pod) or 0)
            else:
                useless.append(pod)
        unneeded = {pod.uid for pod in useless}
        ranked = [pod for pod in ranked if pod.uid not in unneeded]
    return tuple([*useless, *ranked[: max(0, len(ranked) - wanted)]][:BURST])


def _free(job: KubeObject, counted: PodCounts) -> list[int]:
    """Indexes without a pod, lowest first."""
    busy = [*counted.active, *(counted.terminating if replaces_only_failed(job) else ())]
    taken = counted.done_indexes | counted.failed_indexes | {index_of(pod) for pod in busy}
    return [index for index in range(int(job.spec.completions or 0)) if index not in taken]


def _starts_by_index(
    job: KubeObject, counted: PodCounts, missing: int, until_s: float | None, now: float
) -> Plan:
    """Where each index has its own number of failures it also has its own delay."""
    start: list[Start] = []
    again_s = until_s
    for index in _free(job, counted):
        if len(start) == missing:
            break
        last = counted.delayed.get(index)
        following = _following(job, index, last)
        tries = following.failures + following.ignored
        left_s = 0.0
        if last is not None:
            left_s = max(0.0, _ended(last) + _delay_s(tries) - now)
        if left_s:
            again_s = _sooner(left_s, again_s)
        else:
            start.append(following)
    return Plan(start=tuple(start), again_s=again_s)


def _following(job: KubeObject, index: int, last: KubeObject | None) -> Start:
    if last is None:
        return Start(index)
    is_ignored = match_policy(job, last).action == IGNORE
    return Start(index, failures_before(last) + (not is_ignored), ignored_before(last) + is_ignored)


def _sooner(delay_s: float, other_s: float | None) -> float:
    return delay_s if other_s is None else min(delay_s, other_s)


def backoff_s(pods: Sequence[KubeObject], now: float) -> float:
    """Exponential in the failures since the last success."""
    last_success = max((_ended(pod) for pod in pods if phase(pod) == "Succeeded"), default=0.0)
    failures = [_ended(pod) for pod in pods if phase(pod) == "Failed"]
    recent = [state for state in failures if state > last_success]
    if not recent:
        return 0.0
    return max(0.0, max(recent) + _delay_s(len(recent)) - now)


def _delay_s(failures: int) -> float:
    return min(_BACKOFF_S * 2.0 ** min(failures - 1, 30), _BACKOFF_MAX_S) if failures else 0.0


def _ended(pod: KubeObject) -> float:
    statuses = (pod.status or {}).get("containerStatuses") or ()
    ends = [((one.get("state") or {}).get("terminated") or {}).get("finishedAt")
            for one in statuses]  # fmt: skip
    return max((parse_time(end) for end in ends if end), default=created_at(pod))
