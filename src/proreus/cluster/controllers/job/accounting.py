"""A Job's status, and which pods may go because it has counted them. Pure.

Invariant: a pod is let go only after a status that knows of it was written.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from proreus.api.frozen import thaw
from proreus.api.object import KubeObject
from proreus.api.values.timestamp import format_time
from proreus.cluster.controllers import conditions
from proreus.cluster.controllers.batches import BURST
from proreus.cluster.controllers.job.indexes import (
    format_indexes,
    has_limit_per_index,
    is_indexed,
)
from proreus.cluster.controllers.job.moment import Moment
from proreus.cluster.controllers.job.tally import counts, has_failed, is_held
from proreus.cluster.controllers.pod_template import phase

_LIMIT = BURST  # pods let go at once; a status must not grow without bound


@dataclass(frozen=True, slots=True)
class Account:
    """``status`` is to be written, then ``let_go`` lose their finalizer."""

    status: dict[str, Any]
    let_go: tuple[KubeObject, ...]


def account(moment: Moment, *, active: int, ready: int) -> Account:
    """``active``, ``ready``: how many remain of the pods after what was started and stopped."""
    job, counted = moment.job, moment.counted
    ended = _ended(moment)
    ledger = _ledger(moment, ended)
    if is_indexed(job):
        ledger["succeeded"] = len(counted.done_indexes)
        ledger["completedIndexes"] = format_indexes(counted.done_indexes)
    uncounted = ledger.pop("uncountedTerminatedPods")
    status = {field: value for field, value in {"active": active, **ledger}.items() if value}
    if has_limit_per_index(job):
        status["failedIndexes"] = format_indexes(counted.failed_indexes)
    status["ready"], status["terminating"] = ready, len(counted.terminating)
    status["uncountedTerminatedPods"] = uncounted
    return Account({**status, **_times_and_conditions(moment)}, ended)


def _ledger(moment: Moment, ended: Sequence[KubeObject]) -> dict[str, Any]:
    """Uids whose pods are free become numbers, the ends of pods become uids."""
    job, before = moment.job, moment.job.status or {}
    held = {pod.uid for pod in moment.pods if is_held(pod)}
    uncounted = thaw(before.get("uncountedTerminatedPods") or {})
    well, badly = uncounted.get("succeeded") or [], uncounted.get("failed") or []
    numbers: dict[str, Any] = {
        "succeeded": (before.get("succeeded") or 0) + sum(uid not in held for uid in well),
        "failed": (before.get("failed") or 0) + sum(uid not in held for uid in badly),
    }
    well, badly = [u for u in well if u in held], [u for u in badly if u in held]
    for pod in ended:
        if phase(pod) == "Succeeded":
            # An index needs no uid: that it is done can be said twice.
            well += [] if is_indexed(job) or pod.uid in well else [pod.uid]
        elif _is_failure(moment, pod) and pod.uid not in badly:
            badly.append(pod.uid)
    lists = {"succeeded": well, "failed": badly}
    return {**numbers, "uncountedTerminatedPods": {k: uids for k, uids in lists.items() if uids}}


def _ended(moment: Moment) -> tuple[KubeObject, ...]:
    """Pods that need not be held any longer: all, once the Job is decided."""
    is_decided = moment.verdict is not None
    waiting = set() if is_decided else {pod.uid for pod in moment.counted.delayed.values()}
    found = [
        pod
        for pod in moment.pods
        if is_held(pod)
        and pod.uid not in waiting
        and (is_decided or phase(pod) == "Succeeded" or has_failed(moment.job, pod))
    ]
    return tuple(found[:_LIMIT])


def _is_failure(moment: Moment, pod: KubeObject) -> bool:
    """When a Job has failed, so have all pods that had not succeeded by then."""
    is_lost = moment.verdict is not None and not moment.verdict.is_success
    return (is_lost or has_failed(moment.job, pod)) and counts(moment.job, pod)


def _times_and_conditions(moment: Moment) -> dict[str, Any]:
    job, verdict, now = moment.job, moment.verdict, moment.now
    before, found = job.status or {}, thaw((job.status or {}).get("conditions") or [])
    times: dict[str, Any] = {}
    start = before.get("startTime") or (None if job.spec.suspend else format_time(now))

    def put(kind: str, status: str, reason: str, message: str) -> list[conditions.Condition]:
        made = conditions.condition(kind, status, reason, message, now)
        return conditions.with_condition(found, {**made, "lastProbeTime": format_time(now)})

    if verdict is not None:
        found = put(verdict.announcement, "True", verdict.reason, verdict.message)
        if not any(map(is_held, moment.pods)) and not moment.counted.remaining:
            found = put(verdict.conclusion, "True", verdict.reason, verdict.message)
            if verdict.is_success:
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
    known = conditions.find((job.status or {}).get("conditions"), "Suspended")
    return known is not None and known.get("status") == "True"
