"""A Job as it stands: its pods, what they come to, and how it ends if it does. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from proreus.api.object import KubeObject
from proreus.cluster.controllers.job.tally import Tally, tally
from proreus.cluster.controllers.job.verdict import Verdict, judge


@dataclass(frozen=True, slots=True)
class Moment:
    """``verdict`` None: the Job goes on."""

    job: KubeObject
    pods: Sequence[KubeObject]
    counted: Tally
    verdict: Verdict | None
    now: float


def look(job: KubeObject, pods: Sequence[KubeObject], now: float) -> Moment:
    counted = tally(job, pods)
    return Moment(job, pods, counted, judge(job, pods, counted, now), now)
