"""Whether a Job is over, and how it ended. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from proreus.api.object import KubeObject
from proreus.api.values.timestamp import parse_time
from proreus.client import conditions
from proreus.cluster.controllers.job.failure_policy import FAIL_JOB, match_policy
from proreus.cluster.controllers.job.indexes import has_limit_per_index, parse_indexes
from proreus.cluster.controllers.job.pod_counts import PodCounts
from proreus.cluster.pod_status import is_deleting, phase

_BACKOFF_LIMIT = 6


@dataclass(frozen=True, slots=True)
class JobOutcome:
    """How a Job ends: decided once, and carried out when its last pod is gone."""

    is_success: bool
    reason: str
    message: str

    @property
    def interim_condition(self) -> str:
        """The condition that says it while pods remain."""
        return "SuccessCriteriaMet" if self.is_success else "FailureTarget"

    @property
    def final_condition(self) -> str:
        return "Complete" if self.is_success else "Failed"


def is_job_finished(job: KubeObject) -> bool:
    return any(conditions.is_true(job, kind) for kind in ("Complete", "Failed"))


def is_complete(job: KubeObject) -> bool:
    return conditions.is_true(job, "Complete")


def has_too_many_successes(job: KubeObject) -> bool:
    """Pods succeeded beyond those that were asked for, as the number was lowered meanwhile."""
    completions = job.spec.completions
    return completions is not None and (job.status.succeeded or 0) > completions


def decide_outcome(
    job: KubeObject, pods: Sequence[KubeObject], counted: PodCounts, now: float
) -> JobOutcome | None:
    """The first reason that applies; what was once announced stands."""
    return (
        recorded_outcome(job)
        or _failed_by_policy(job, counted)
        or _failed_too_often(job, pods, counted, now)
        or _failed_by_index(job, counted)
        or _succeeded(job, counted)
    )


def recorded_outcome(job: KubeObject) -> JobOutcome | None:
    for kind, is_success in (("FailureTarget", False), ("SuccessCriteriaMet", True)):
        if conditions.is_true(job, kind):
            found = conditions.find(job, kind)
            return JobOutcome(is_success, found.get("reason") or "", found.get("message") or "")
    return None


def _failed_by_policy(job: KubeObject, counted: PodCounts) -> JobOutcome | None:
    for pod in counted.new_failed:
        found = match_policy(job, pod)
        if found.action == FAIL_JOB:
            return JobOutcome(False, "PodFailurePolicy", found.message)
    return None


def _failed_too_often(
    job: KubeObject, pods: Sequence[KubeObject], counted: PodCounts, now: float
) -> JobOutcome | None:
    limit = job.spec.backoffLimit
    limit = _BACKOFF_LIMIT if limit is None else int(limit)
    if counted.failed > limit or _restarted_too_often(job, pods, limit):
        return JobOutcome(
            False, "BackoffLimitExceeded", "Job has reached the specified backoff limit"
        )
    if deadline_s(job, now) == 0:
        return JobOutcome(
            False, "DeadlineExceeded", "Job was active longer than specified deadline"
        )
    return None


def _restarted_too_often(job: KubeObject, pods: Sequence[KubeObject], limit: int) -> bool:
    """Where containers restart in place, their restarts are the failures."""
    if job.spec.template.spec.restartPolicy != "OnFailure":
        return False
    statuses = [
        one
        for pod in pods
        if phase(pod) in ("Pending", "Running")
        for kind in ("initContainerStatuses", "containerStatuses")
        for one in pod.status.get(kind) or ()
    ]
    restarts = sum(int(one.get("restartCount") or 0) for one in statuses)
    return restarts >= limit if limit else restarts > 0


def _failed_by_index(job: KubeObject, counted: PodCounts) -> JobOutcome | None:
    if not has_limit_per_index(job) or not counted.failed_indexes:
        return None
    most, lost = job.spec.maxFailedIndexes, len(counted.failed_indexes)
    if most is not None and lost > int(most):
        message = "Job has exceeded the specified maximal number of failed indexes"
        return JobOutcome(False, "MaxFailedIndexesExceeded", message)
    if lost + len(counted.done_indexes) >= int(job.spec.completions or 0):
        return JobOutcome(False, "FailedIndexes", "Job has failed indexes")
    return None


def _succeeded(job: KubeObject, counted: PodCounts) -> JobOutcome | None:
    for number, rule in enumerate((job.spec.successPolicy or {}).get("rules") or ()):
        text, least = rule.get("succeededIndexes"), rule.get("succeededCount")
        wanted = None if text is None else parse_indexes(text)
        done = counted.done_indexes if wanted is None else counted.done_indexes & wanted
        if len(done) >= (len(wanted or ()) if least is None else int(least)):
            return JobOutcome(True, "SuccessPolicy", f"Matched rules at index {number}")
    completions = job.spec.completions
    enough = 1 if completions is None else int(completions)
    if counted.succeeded >= enough and not counted.active:
        return JobOutcome(True, "CompletionsReached", "Reached expected number of succeeded pods")
    return None


def deadline_s(job: KubeObject, now: float) -> float | None:
    limit, start = job.spec.activeDeadlineSeconds, (job.status or {}).get("startTime")
    if limit is None or not start or job.spec.suspend:
        return None
    return max(0.0, parse_time(start) + float(limit) - now)


def ttl_s(job: KubeObject, now: float) -> float | None:
    """How long a Job that is over is kept; None: for ever."""
    limit = job.spec.ttlSecondsAfterFinished
    if limit is None or not is_job_finished(job) or is_deleting(job):
        return None
    ended = conditions.find(job, "Complete") or conditions.find(job, "Failed")
    return max(0.0, parse_time(ended["lastTransitionTime"]) + float(limit) - now)
