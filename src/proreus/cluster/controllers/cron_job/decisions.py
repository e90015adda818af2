"""The Jobs of a CronJob: what the next one is, which are kept, and its status. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from proreus.api.frozen import thaw
from proreus.api.object import KubeObject
from proreus.cluster.controllers.cron_job.moments import zone_of
from proreus.cluster.controllers.job.verdict import is_complete, is_over
from proreus.cluster.controllers.ownership import reference_to
from proreus.cluster.controllers.pod_template import created_at

SCHEDULED = "batch.kubernetes.io/cronjob-scheduled-timestamp"


def job_for(cron_job: KubeObject, moment: float) -> dict[str, Any]:
    """Its name tells the minute, so that no moment gets two Jobs."""
    template: dict[str, Any] = thaw(cron_job.spec.jobTemplate)
    own = template.get("metadata") or {}
    annotations = {**(own.get("annotations") or {}), SCHEDULED: _told(cron_job, moment)}
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {
            "name": f"{cron_job.name}-{int(moment) // 60}",
            "namespace": cron_job.namespace,
            "labels": own.get("labels") or {},
            "annotations": annotations,
            "ownerReferences": [reference_to(cron_job)],
        },
        "spec": template.get("spec") or {},
    }


def _told(cron_job: KubeObject, moment: float) -> str:
    """A moment as the clock of the CronJob's zone shows it."""
    return datetime.fromtimestamp(int(moment), zone_of(cron_job)).isoformat().replace("+00:00", "Z")


@dataclass(frozen=True, slots=True)
class News:
    """What happened to a Job since the last look."""

    reason: str
    message: str


def news(cron_job: KubeObject, jobs: Sequence[KubeObject]) -> list[News]:
    """About Jobs that ran when the status was written."""
    known, found = {job.uid: job for job in jobs}, []
    for reference in (cron_job.status or {}).get("active") or ():
        job = known.get(reference["uid"])
        if job is None:
            message = f"Active job went missing: {reference['name']}"
            found.append(News("MissingJob", message))
        elif is_over(job):
            end = "Complete" if is_complete(job) else "Failed"
            message = f"Saw completed job: {job.name}, condition: {end}"
            found.append(News("SawCompletedJob", message))
    return found


def beyond_history(cron_job: KubeObject, jobs: Sequence[KubeObject]) -> list[KubeObject]:
    """Jobs that are over and need not be kept, oldest first."""
    over = sorted((job for job in jobs if is_over(job)), key=created_at)
    good = [job for job in over if is_complete(job)]
    bad = [job for job in over if not is_complete(job)]
    limits = (
        (good, cron_job.spec.successfulJobsHistoryLimit, 3),
        (bad, cron_job.spec.failedJobsHistoryLimit, 1),
    )
    found: list[KubeObject] = []
    for kept, limit, default in limits:
        excess = len(kept) - (default if limit is None else int(limit))
        found += kept[: max(0, excess)]
    return found


def status_of(
    cron_job: KubeObject, active: Sequence[KubeObject], jobs: Sequence[KubeObject], at: str
) -> dict[str, Any]:
    status: dict[str, Any] = {}
    if active:
        status["active"] = [
            {
                "apiVersion": "batch/v1", "kind": "Job", "name": job.name,
                "namespace": job.namespace, "uid": job.uid,
                "resourceVersion": job.resource_version,
            }
            for job in sorted(active, key=lambda job: job.name)
        ]  # fmt: skip
    if at:
        status["lastScheduleTime"] = at
    before = (cron_job.status or {}).get("lastSuccessfulTime")
    ends = [job.status.completionTime for job in jobs if is_complete(job)]
    if last := max(filter(None, [before, *ends]), default=""):
        status["lastSuccessfulTime"] = last
    return status
