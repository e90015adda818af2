"""Whether a Job is over, and how it ended. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from proreus.api.object import KubeObject
from proreus.api.values.timestamp import parse_time
from proreus.cluster.controllers import conditions
from proreus.cluster.controllers.job.failure_policy import FAIL_JOB, ruling
from proreus.cluster.controllers.job.indexes import has_limit_per_index, parse_indexes
from proreus.cluster.controllers.job.tally import Tally
from proreus.cluster.controllers.ownership import is_deleting
from proreus.cluster.controllers.pod_template import phase

_BACKOFF_LIMIT = 6


@dataclass(frozen=True, slots=True)
class Verdict:
    """How a Job ends: decided once, and carried out when its last pod is gone."""

    is_success: bool
    reason: str
    message: str

    @property
    def announcement(self) -> str:
        """The condition that says it while pods remain."""
        return "SuccessCriteriaMet" if self.is_success else "FailureTarget"

    @property
    def conclusion(self) -> str:
        return "Complete" if self.is_success else "Failed"


def is_over(job: KubeObject) -> bool:
    return any(_holds(job, kind) for kind in ("Complete", "Failed"))


def is_complete(job: KubeObject) -> bool:
    return _holds(job, "Complete")


def _holds(job: KubeObject, kind: str) -> bool:
    found = conditions.find((job.status or {}).get("conditions"), kind)
    return found is not None and found.get("status") == "True"


def judge(
    job: KubeObject, pods: Sequence[KubeObject], counted: Tally, now: float
) -> Verdict | None:
    """The first reason that applies; what was once announced stands."""
    return (
        announced(job)
        or _failed_by_policy(job, counted)
        or _failed_too_often(job, pods, counted, now)
        or _failed_by_index(job, counted)
        or _succeeded(job, counted)
    )


def announced(job: KubeObject) -> Verdict | None:
    for kind, is_success in (("FailureTarget", False), ("SuccessCriteriaMet", True)):
        if _holds(job, kind):
            found = conditions.find(job.status.conditions, kind)
            return Verdict(is_success, found.get("reason") or "", found.get("message") or "")
    return None


def _failed_by_policy(job: KubeObject, counted: Tally) -> Verdict | None:
    for pod in counted.new_failed:
        found = ruling(job, pod)
        if found.action == FAIL_JOB:
            return Verdict(False, "PodFailurePolicy", found.message)
    return None


def _failed_too_often(
    job: KubeObject, pods: Sequence[KubeObject], counted: Tally, now: float
) -> Verdict | None:
    limit = job.spec.backoffLimit
    limit = _BACKOFF_LIMIT if limit is None else int(limit)
    if counted.failed > limit or _restarted_too_often(job, pods, limit):
        return Verdict(False, "BackoffLimitExceeded", "Job has reached the specified backoff limit")
    if deadline_s(job, now) == 0:
        return Verdict(False, "DeadlineExceeded", "Job was active longer than specified deadline")
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


def _failed_by_index(job: KubeObject, counted: Tally) -> Verdict | None:
    if not has_limit_per_index(job) or not counted.failed_indexes:
        return None
    most, lost = job.spec.maxFailedIndexes, len(counted.failed_indexes)
    if most is not None and lost > int(most):
        message = "Job has exceeded the specified maximal number of failed indexes"
        return Verdict(False, "MaxFailedIndexesExceeded", message)
    if lost + len(counted.done_indexes) >= int(job.spec.completions or 0):
        return Verdict(False, "FailedIndexes", "Job has failed indexes")
    return None


def _succeeded(job: KubeObject, counted: Tally) -> Verdict | None:
    for number, rule in enumerate((job.spec.successPolicy or {}).get("rules") or ()):
        text, least = rule.get("succeededIndexes"), rule.get("succeededCount")
        wanted = None if text is None else parse_indexes(text)
        done = counted.done_indexes if wanted is None else counted.done_indexes & wanted
        if len(done) >= (len(wanted or ()) if least is None else int(least)):
            return Verdict(True, "SuccessPolicy", f"Matched rules at index {number}")
    completions = job.spec.completions
    enough = 1 if completions is None else int(completions)
    if counted.succeeded >= enough and not counted.active:
        return Verdict(True, "CompletionsReached", "Reached expected number of succeeded pods")
    return None


def deadline_s(job: KubeObject, now: float) -> float | None:
    limit, start = job.spec.activeDeadlineSeconds, (job.status or {}).get("startTime")
    if limit is None or not start or job.spec.suspend:
        return None
    return max(0.0, parse_time(start) + float(limit) - now)


def ttl_s(job: KubeObject, now: float) -> float | None:
    """How long a Job that is over is kept; None: for ever."""
    limit = job.spec.ttlSecondsAfterFinished
    if limit is None or not is_over(job) or is_deleting(job):
        return None
    found = job.status.conditions
    ended = conditions.find(found, "Complete") or conditions.find(found, "Failed")
    return max(0.0, parse_time(ended["lastTransitionTime"]) + float(limit) - now)
