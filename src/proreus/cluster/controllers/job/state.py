"""A Job, its pods, their counts and its outcome, as one reconcile observes them. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from proreus.api.object import KubeObject
from proreus.cluster.controllers.job.outcome import JobOutcome, decide_outcome
from proreus.cluster.controllers.job.pod_counts import PodCounts, count_pods


@dataclass(frozen=True, slots=True)
class JobState:
    """``outcome`` None: the Job goes on."""

    job: KubeObject
    pods: Sequence[KubeObject]
    counted: PodCounts
    outcome: JobOutcome | None
    now: float


def observe(job: KubeObject, pods: Sequence[KubeObject], now: float) -> JobState:
    counted = count_pods(job, pods)
    return JobState(job, pods, counted, decide_outcome(job, pods, counted, now), now)
