"""The Jobs of a CronJob: what the next one is, which are kept, and its status. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from proreus.api.frozen import thaw
from proreus.api.json_types import JsonObject
from proreus.api.object import KubeObject
from proreus.client.ownership import controller_reference
from proreus.cluster.controllers.cron_job.schedule_times import zone_of
from proreus.cluster.controllers.job.outcome import is_complete, is_job_finished
from proreus.cluster.pod_status import created_at

SCHEDULED = "batch.kubernetes.io/cronjob-scheduled-timestamp"


def job_for(cron_job: KubeObject, scheduled: float) -> JsonObject:
    """Its name has the scheduled minute, so that no time gets two Jobs."""
    template: JsonObject = thaw(cron_job.spec.jobTemplate)
    own = template.get("metadata") or {}
    annotations = {
        **(own.get("annotations") or {}),
        SCHEDULED: _scheduled_timestamp(cron_job, scheduled),
    }
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {
            "name": f"{cron_job.name}-{int(scheduled) // 60}",
            "namespace": cron_job.namespace,
            "labels": own.get("labels") or {},
            "annotations": annotations,
            "ownerReferences": [controller_reference(cron_job)],
        },
        "spec": template.get("spec") or {},
    }


def _scheduled_timestamp(cron_job: KubeObject, scheduled: float) -> str:
    """The scheduled time in the CronJob's time zone."""
    return (
        datetime.fromtimestamp(int(scheduled), zone_of(cron_job)).isoformat().replace("+00:00", "Z")
    )


@dataclass(frozen=True, slots=True)
class JobEvent:
    """An event about a Job that changed since the last reconcile."""

    reason: str
    message: str


def job_events(cron_job: KubeObject, jobs: Sequence[KubeObject]) -> list[JobEvent]:
    """About Jobs that ran when the status was written."""
    known, found = {job.uid: job for job in jobs}, []
    for reference in (cron_job.status or {}).get("active") or ():
        job = known.get(reference["uid"])
        if job is None:
            message = f"Active job went missing: {reference['name']}"
            found.append(JobEvent("MissingJob", message))
        elif is_job_finished(job):
            end = "Complete" if is_complete(job) else "Failed"
            message = f"Saw completed job: {job.name}, condition: {end}"
            found.append(JobEvent("SawCompletedJob", message))
    return found


def beyond_history(cron_job: KubeObject, jobs: Sequence[KubeObject]) -> list[KubeObject]:
    """Jobs that are over and need not be kept, oldest first."""
    over = sorted((job for job in jobs if is_job_finished(job)), key=created_at)
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
) -> JsonObject:
    status: JsonObject = {}
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
