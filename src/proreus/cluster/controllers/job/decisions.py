"""What a Job needs next: pods to start or stop, whether it is over, its status. Pure.

Finished pods are counted while they exist; ``status`` remembers no less than it ever said.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from proreus.api.frozen import thaw
from proreus.api.object import KubeObject
from proreus.api.values.timestamp import format_time, parse_time
from proreus.cluster.controllers import conditions
from proreus.cluster.controllers.batches import BURST
from proreus.cluster.controllers.ownership import is_deleting
from proreus.cluster.controllers.pod_template import created_at, is_active, is_ready, phase

INDEX = "batch.kubernetes.io/job-completion-index"
_BACKOFF_S, _BACKOFF_MAX_S = 10.0, 360.0


@dataclass(frozen=True, slots=True)
class Verdict:
    """How a Job ended."""

    is_success: bool
    reason: str
    message: str


@dataclass(frozen=True, slots=True)
class Count:
    """The pods of a Job."""

    active: tuple[KubeObject, ...]
    succeeded: int
    failed: int
    indexes: frozenset[int]  # those that succeeded, of an indexed Job


@dataclass(frozen=True, slots=True)
class Plan:
    """``start``: an index per pod, None for pods without one. ``again_s``: when to look again."""

    start: tuple[int | None, ...] = ()
    stop: tuple[KubeObject, ...] = ()
    verdict: Verdict | None = None
    again_s: float | None = None


def is_over(job: KubeObject) -> bool:
    found = (job.status or {}).get("conditions")
    ended = (conditions.find(found, kind) for kind in ("Complete", "Failed"))
    return any(one is not None and one.get("status") == "True" for one in ended)


def count(job: KubeObject, pods: Sequence[KubeObject]) -> Count:
    status = job.status or {}
    done = [pod for pod in pods if phase(pod) == "Succeeded"]
    # A pod that is being deleted while it runs will never succeed.
    failed = [pod for pod in pods if phase(pod) == "Failed"]
    indexes = frozenset(
        index for pod in done if (index := index_of(pod)) is not None
    ) | parse_indexes(status.get("completedIndexes") or "")
    succeeded = len(indexes) if is_indexed(job) else max(len(done), status.get("succeeded") or 0)
    return Count(
        tuple(pod for pod in pods if is_active(pod)),
        succeeded,
        max(len(failed), status.get("failed") or 0),
        indexes,
    )


def plan(job: KubeObject, pods: Sequence[KubeObject], now: float) -> Plan:
    counted = count(job, pods)
    verdict = judge(job, counted, now)
    if verdict is not None:
        return Plan(stop=counted.active, verdict=verdict)
    if job.spec.suspend:
        return Plan(stop=counted.active)
    deadline_s = _deadline_s(job, now)
    wanted = _wanted(job, counted)
    missing = wanted - len(counted.active)
    if missing < 0:
        youngest = sorted(counted.active, key=lambda pod: (is_ready(pod), -created_at(pod)))
        return Plan(stop=tuple(youngest[:-missing]), again_s=deadline_s)
    delay_s = backoff_s(pods, now)
    if missing and delay_s:
        return Plan(again_s=min(delay_s, deadline_s or delay_s))
    return Plan(start=_starts(job, counted, min(missing, BURST)), again_s=deadline_s)


def judge(job: KubeObject, counted: Count, now: float) -> Verdict | None:
    limit = job.spec.backoffLimit
    if counted.failed > (6 if limit is None else int(limit)):
        return Verdict(False, "BackoffLimitExceeded", "Job has reached the specified backoff limit")
    if _deadline_s(job, now) == 0:
        return Verdict(False, "DeadlineExceeded", "Job was active longer than specified deadline")
    completions = job.spec.completions
    if completions is None:
        is_done = counted.succeeded > 0 and not counted.active
    else:
        is_done = counted.succeeded >= int(completions)
    if is_done:
        return Verdict(True, "CompletionsReached", "Reached expected number of succeeded pods")
    return None


def _wanted(job: KubeObject, counted: Count) -> int:
    """How many pods should run now."""
    parallelism = 1 if job.spec.parallelism is None else int(job.spec.parallelism)
    if job.spec.completions is None:
        # Without a number of completions, one success means that the others need not begin.
        return min(parallelism, len(counted.active)) if counted.succeeded else parallelism
    return min(parallelism, int(job.spec.completions) - counted.succeeded)


def _starts(job: KubeObject, counted: Count, number: int) -> tuple[int | None, ...]:
    if not is_indexed(job):
        return (None,) * number
    taken = counted.indexes | {index_of(pod) for pod in counted.active}
    free = [index for index in range(int(job.spec.completions or 0)) if index not in taken]
    return tuple(free[:number])


def backoff_s(pods: Sequence[KubeObject], now: float) -> float:
    """After failures new pods wait, ever longer; a success forgives all before it."""
    last_success = max((_ended(pod) for pod in pods if phase(pod) == "Succeeded"), default=0.0)
    failures = [_ended(pod) for pod in pods if phase(pod) == "Failed"]
    recent = [moment for moment in failures if moment > last_success]
    if not recent:
        return 0.0
    delay_s = min(_BACKOFF_S * 2.0 ** min(len(recent) - 1, 30), _BACKOFF_MAX_S)
    return max(0.0, max(recent) + delay_s - now)


def _ended(pod: KubeObject) -> float:
    statuses = (pod.status or {}).get("containerStatuses") or ()
    ends = [((one.get("state") or {}).get("terminated") or {}).get("finishedAt")
            for one in statuses]  # fmt: skip
    return max((parse_time(end) for end in ends if end), default=created_at(pod))


def _deadline_s(job: KubeObject, now: float) -> float | None:
    limit, start = job.spec.activeDeadlineSeconds, (job.status or {}).get("startTime")
    if limit is None or not start or job.spec.suspend:
        return None
    return max(0.0, parse_time(start) + float(limit) - now)


def ttl_s(job: KubeObject, now: float) -> float | None:
    """How long a Job that is over is kept; None: for ever."""
    limit = job.spec.ttlSecondsAfterFinished
    if limit is None or not is_over(job) or is_deleting(job):
        return None
    found = (job.status or {}).get("conditions")
    ended = conditions.find(found, "Complete") or conditions.find(found, "Failed")
    return max(0.0, parse_time(ended["lastTransitionTime"]) + float(limit) - now)


def is_indexed(job: KubeObject) -> bool:
    return bool(job.spec.completionMode == "Indexed")


def index_of(pod: KubeObject) -> int | None:
    text = pod.annotations.get(INDEX, "")
    return int(text) if text.isascii() and text.isdecimal() else None


def parse_indexes(text: str) -> frozenset[int]:
    """``1,3-5`` → 1, 3, 4, 5."""
    found: set[int] = set()
    for part in filter(None, text.split(",")):
        first, _, last = part.partition("-")
        found.update(range(int(first), int(last or first) + 1))
    return frozenset(found)


def format_indexes(indexes: frozenset[int]) -> str:
    runs: list[list[int]] = []
    for index in sorted(indexes):
        if runs and runs[-1][1] == index - 1:
            runs[-1][1] = index
        else:
            runs.append([index, index])
    return ",".join(str(a) if a == b else f"{a}-{b}" for a, b in runs)


def status_of(
    job: KubeObject, pods: Sequence[KubeObject], verdict: Verdict | None, now: float
) -> dict[str, Any]:
    counted, before = count(job, pods), job.status or {}
    is_ended = verdict is not None
    active = () if is_ended or job.spec.suspend else counted.active
    status: dict[str, Any] = {
        "active": len(active),
        "ready": sum(is_ready(pod) for pod in active),
        "terminating": sum(is_deleting(pod) for pod in pods),
        "succeeded": counted.succeeded,
        "failed": counted.failed,
        "completedIndexes": format_indexes(counted.indexes),
    }
    status = {field: value for field, value in status.items() if value}
    status["uncountedTerminatedPods"] = {}
    status["ready"] = status.get("ready", 0)
    status["terminating"] = status.get("terminating", 0)
    if start := before.get("startTime") or (None if job.spec.suspend else format_time(now)):
        status["startTime"] = start
    found = _conditions(job, verdict, now)
    if found:
        status["conditions"] = found
    if verdict is not None and verdict.is_success:
        status["completionTime"] = format_time(now)
    return status


def _conditions(job: KubeObject, verdict: Verdict | None, now: float) -> list[conditions.Condition]:
    found: list[conditions.Condition] = thaw((job.status or {}).get("conditions") or [])

    def put(kind: str, status: str, reason: str, message: str) -> list[conditions.Condition]:
        made = conditions.condition(kind, status, reason, message, now)
        return conditions.with_condition(found, {**made, "lastProbeTime": format_time(now)})

    if verdict is not None:
        kinds = ("SuccessCriteriaMet", "Complete") if verdict.is_success else (
            "FailureTarget", "Failed",
        )  # fmt: skip
        for kind in kinds:
            found = put(kind, "True", verdict.reason, verdict.message)
    elif job.spec.suspend:
        found = put("Suspended", "True", "JobSuspended", "Job suspended")
    elif conditions.find(found, "Suspended") is not None:
        found = put("Suspended", "False", "JobResumed", "Job resumed")
    return found
