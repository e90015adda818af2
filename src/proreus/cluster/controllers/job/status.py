"""A Job's status, and which pods lose the finalizer because it counts them. Pure.

Invariant: a pod loses the finalizer only after a status that counts it was written.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from proreus.api.frozen import thaw
from proreus.api.json_types import JsonObject
from proreus.api.object import KubeObject
from proreus.api.values.timestamp import format_time
from proreus.client import conditions
from proreus.cluster.controllers.batches import BURST
from proreus.cluster.controllers.job.indexes import format_indexes, has_limit_per_index, is_indexed
from proreus.cluster.controllers.job.pod_counts import counts, has_failed, is_tracked
from proreus.cluster.controllers.job.state import JobState
from proreus.cluster.pod_status import phase

_LIMIT = BURST  # pods released per reconcile; a status must not grow without bound


@dataclass(frozen=True, slots=True)
class StatusUpdate:
    """``status`` is written first, then the pods in ``release`` lose the finalizer."""

    status: JsonObject
    release: tuple[KubeObject, ...]


def status_update(state: JobState, *, active: int, ready: int, stopped: int = 0) -> StatusUpdate:
    """``active``, ``ready``: how many remain of the pods after what was started and stopped;
    ``stopped``: how many of those are on their way out now."""
    job, counted = state.job, state.counted
    ended = _ended(state)
    ledger = _ledger(state, ended)
    if is_indexed(job):
        ledger["succeeded"] = len(counted.done_indexes)
        ledger["completedIndexes"] = format_indexes(counted.done_indexes)
    uncounted = ledger.pop("uncountedTerminatedPods")
    status = {field: value for field, value in {"active": active, **ledger}.items() if value}
    if has_limit_per_index(job):
        status["failedIndexes"] = format_indexes(counted.failed_indexes)
    status["ready"], status["terminating"] = ready, len(counted.terminating) + stopped
    status["uncountedTerminatedPods"] = uncounted
    return StatusUpdate({**status, **_times_and_conditions(state)}, ended)


def _ledger(state: JobState, ended: Sequence[KubeObject]) -> JsonObject:
    """Uids whose pods are free become numbers, the ends of pods become uids."""
    job, before = state.job, state.job.status or {}
    held = {pod.uid for pod in state.pods if is_tracked(pod)}
    uncounted = thaw(before.get("uncountedTerminatedPods") or {})
    well, badly = uncounted.get("succeeded") or [], uncounted.get("failed") or []
    numbers: JsonObject = {
        "succeeded": (before.get("succeeded") or 0) + sum(uid not in held for uid in well),
        "failed": (before.get("failed") or 0) + sum(uid not in held for uid in badly),
    }
    well, badly = [u for u in well if u in held], [u for u in badly if u in held]
    for pod in ended:
        if phase(pod) == "Succeeded":
            # An index needs no uid: that it is done can be said twice.
            well += [] if is_indexed(job) or pod.uid in well else [pod.uid]
        elif _is_failure(state, pod) and pod.uid not in badly:
            badly.append(pod.uid)
    lists = {"succeeded": well, "failed": badly}
    return {**numbers, "uncountedTerminatedPods": {k: uids for k, uids in lists.items() if uids}}


def _ended(state: JobState) -> tuple[KubeObject, ...]:
    """Pods that need not be held any longer: all, once the Job is decided."""
    is_decided = state.outcome is not None
    waiting = set() if is_decided else {pod.uid for pod in state.counted.delayed.values()}
    found = [
        pod
        for pod in state.pods
        if is_tracked(pod)
        and pod.uid not in waiting
        and (is_decided or phase(pod) == "Succeeded" or has_failed(state.job, pod))
    ]
    return tuple(found[:_LIMIT])


def _is_failure(state: JobState, pod: KubeObject) -> bool:
    """When a Job has failed, so have all pods that had not succeeded by then."""
    is_lost = state.outcome is not None and not state.outcome.is_success
    return (is_lost or has_failed(state.job, pod)) and counts(state.job, pod)


def _times_and_conditions(state: JobState) -> JsonObject:
    job, outcome, now = state.job, state.outcome, state.now
    before, found = job.status or {}, thaw((job.status or {}).get("conditions") or [])
    times: JsonObject = {}
    start = before.get("startTime") or (None if job.spec.suspend else format_time(now))

    def put(kind: str, status: str, reason: str, message: str) -> list[conditions.Condition]:
        made = conditions.condition(kind, status, reason, message, now)
        return conditions.with_condition(found, {**made, "lastProbeTime": format_time(now)})

    if outcome is not None:
        found = put(outcome.interim_condition, "True", outcome.reason, outcome.message)
        if not any(map(is_tracked, state.pods)) and not state.counted.unfinished:
            found = put(outcome.final_condition, "True", outcome.reason, outcome.message)
            if outcome.is_success:
                times["completionTime"] = format_time(now)
    elif job.spec.suspend:
        found = put("Suspended", "True", "JobSuspended", "Job suspended")
    elif is_suspended(job):
        found = put("Suspended", "False", "JobResumed", "Job resumed")
        start = format_time(now)  # the deadline begins anew
    if start:
        times["startTime"] = start
    return {**times, "conditions": found} if found else times


def is_suspended(job: KubeObject) -> bool:
    return conditions.is_true(job, "Suspended")
