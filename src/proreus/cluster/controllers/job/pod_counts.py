"""Counts the pods of a Job, each once, also those deleted before a reconcile. Pure.

A finalizer keeps a pod until its end is in the status. An end is recorded in two steps, so that a
crash between them counts nothing twice: its uid goes to ``uncountedTerminatedPods``, the
finalizer is taken off, and once that is seen the uid becomes a number. An index needs no such
steps: that it is done can be said twice.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from proreus.api.object import KubeObject
from proreus.cluster.controllers.job.failure_policy import FAIL_INDEX, IGNORE, match_policy
from proreus.cluster.controllers.job.indexes import (
    failures_before,
    has_limit_per_index,
    ignored_before,
    index_of,
    is_indexed,
    parse_indexes,
)
from proreus.cluster.pod_status import is_active, is_deleting, is_finished, phase

FINALIZER = "batch.kubernetes.io/job-tracking"
Pods = tuple[KubeObject, ...]


@dataclass(frozen=True, slots=True)
class PodCounts:
    """``succeeded`` and ``failed`` are all that ever were; ``new_*`` are those that are not written
    down yet. ``delayed``: per index its last failed pod, which is held until another takes its
    place, because it tells how often the index has failed."""

    active: Pods
    terminating: Pods
    new_failed: Pods
    succeeded: int
    failed: int
    done_indexes: frozenset[int]
    failed_indexes: frozenset[int]
    delayed: Mapping[int, KubeObject]

    @property
    def unfinished(self) -> Pods:
        """Pods that still run."""
        return (*self.active, *self.terminating)


def is_tracked(pod: KubeObject) -> bool:
    return FINALIZER in (pod.metadata.finalizers or ())


def replaces_only_failed(job: KubeObject) -> bool:
    """Whether a pod that is on its way out is still waited for."""
    return bool(job.spec.podReplacementPolicy == "Failed" or job.spec.podFailurePolicy)


def has_failed(job: KubeObject, pod: KubeObject) -> bool:
    if is_finished(pod):
        return phase(pod) == "Failed"
    return is_deleting(pod) and not replaces_only_failed(job)


def count_pods(job: KubeObject, pods: Sequence[KubeObject]) -> PodCounts:
    status = job.status or {}
    uncounted = status.get("uncountedTerminatedPods") or {}
    gone_well = frozenset(uncounted.get("succeeded") or ())
    gone_badly = frozenset(uncounted.get("failed") or ())
    valid = [pod for pod in pods if is_tracked(pod) and _has_place(job, pod)]
    succeeded = [p for p in valid if phase(p) == "Succeeded" and p.uid not in gone_well]
    failed = [p for p in valid if has_failed(job, p) and p.uid not in gone_badly]
    done = _known(job, status.get("completedIndexes")) | _indexes(succeeded)
    lost: frozenset[int] = frozenset()
    if has_limit_per_index(job):
        lost = _known(job, status.get("failedIndexes"))
        lost |= _indexes(pod for pod in failed if ends_index(job, pod))
        lost -= done
    counted = [pod for pod in failed if counts(job, pod)]
    number = (status.get("succeeded") or 0) + len(gone_well) + len(succeeded)
    return PodCounts(
        active=tuple(pod for pod in pods if is_active(pod)),
        terminating=tuple(p for p in pods if is_deleting(p) and not is_finished(p)),
        new_failed=tuple(failed),
        succeeded=len(done) if is_indexed(job) else number,
        failed=(status.get("failed") or 0) + len(gone_badly) + len(counted),
        done_indexes=done,
        failed_indexes=lost,
        delayed=_delayed(pods, failed, done | lost) if has_limit_per_index(job) else {},
    )


def counts(job: KubeObject, pod: KubeObject) -> bool:
    return match_policy(job, pod).action != IGNORE


def ends_index(job: KubeObject, pod: KubeObject) -> bool:
    action = match_policy(job, pod).action
    used_up = failures_before(pod) >= int(job.spec.backoffLimitPerIndex)
    return action == FAIL_INDEX or (action != IGNORE and used_up)


def attempts(pod: KubeObject) -> int:
    return failures_before(pod) + ignored_before(pod)


def _has_place(job: KubeObject, pod: KubeObject) -> bool:
    """Whether an indexed Job has, or still has, the index of this pod."""
    if not is_indexed(job):
        return True
    index = index_of(pod)
    return index is not None and index < int(job.spec.completions or 0)


def _known(job: KubeObject, text: str | None) -> frozenset[int]:
    limit = int(job.spec.completions or 0)
    return frozenset(index for index in parse_indexes(text or "") if index < limit)


def _indexes(pods: Iterable[KubeObject]) -> frozenset[int]:
    return frozenset(index for pod in pods if (index := index_of(pod)) is not None)


def _delayed(
    pods: Sequence[KubeObject], failed: Sequence[KubeObject], settled: frozenset[int]
) -> dict[int, KubeObject]:
    latest: dict[int, int] = {}
    for pod in pods:
        if (index := index_of(pod)) is not None:
            latest[index] = max(attempts(pod), latest.get(index, 0))
    return {
        index: pod
        for pod in failed
        if (index := index_of(pod)) is not None
        and index not in settled
        and attempts(pod) == latest[index]
    }
