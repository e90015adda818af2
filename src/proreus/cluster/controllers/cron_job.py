"""CronJobs: a Job at each moment of a schedule, as far as the last ones allow.

Receives: keys of CronJobs, from their events, those of their Jobs, and the clock.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any
from zoneinfo import ZoneInfo

from proreus.api.frozen import thaw
from proreus.api.object import KubeObject
from proreus.api.status import AlreadyExists, NotFound
from proreus.api.values.cron import parse_schedule
from proreus.api.values.timestamp import format_time, parse_time
from proreus.client.controller import Controller, Result
from proreus.cluster.controllers import conditions
from proreus.cluster.controllers.job.decisions import is_over
from proreus.cluster.controllers.own_writes import OwnWrites, reconciling
from proreus.cluster.controllers.ownership import CONTROLLER_INDEX, is_deleting, reference_to
from proreus.cluster.controllers.pod_template import created_at
from proreus.cluster.controllers.setting import Setting

SCHEDULED = "batch.kubernetes.io/cronjob-scheduled-timestamp"
_MISSED_MAX = 100


def cron_job_controller(setting: Setting) -> Controller:
    sync = CronJobs(setting)
    return Controller(
        reconciling(sync.informer, sync.writes, sync.sync),
        sync.informer,
        owns=[sync.jobs],
        name="cronjob",
        concurrency=5,
    )


# Decisions


@dataclass(frozen=True, slots=True)
class Due:
    """``moment``: the latest one that was missed, if any; ``missed``: how many, up to a hundred."""

    moment: float | None
    missed: int
    next_s: float | None


def due(cron_job: KubeObject, now: float) -> Due:
    zone = ZoneInfo(cron_job.spec.timeZone) if cron_job.spec.timeZone else UTC
    schedule = parse_schedule(cron_job.spec.schedule)
    last = (cron_job.status or {}).get("lastScheduleTime")
    since = parse_time(last) if last else created_at(cron_job)
    deadline_s = cron_job.spec.startingDeadlineSeconds
    if deadline_s is not None:
        since = max(since, now - float(deadline_s))
    found, missed = None, 0
    moment = schedule.next_after(datetime.fromtimestamp(since, zone))
    while moment is not None and moment.timestamp() <= now:
        found, missed = moment.timestamp(), missed + 1
        if missed == _MISSED_MAX:
            # After a long pause only the recent past matters.
            moment = schedule.next_after(datetime.fromtimestamp(max(since, now - 86400), zone))
            while moment is not None and moment.timestamp() <= now:
                found = moment.timestamp()
                moment = schedule.next_after(moment)
            break
        moment = schedule.next_after(moment)
    upcoming = schedule.next_after(datetime.fromtimestamp(now, zone))
    return Due(found, missed, upcoming.timestamp() - now if upcoming is not None else None)


def job_for(cron_job: KubeObject, moment: float) -> dict[str, Any]:
    """Its name tells the minute, so that no moment gets two Jobs."""
    template: dict[str, Any] = thaw(cron_job.spec.jobTemplate)
    own = template.get("metadata") or {}
    annotations = {**(own.get("annotations") or {}), SCHEDULED: format_time(moment)}
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


def beyond_history(cron_job: KubeObject, jobs: Sequence[KubeObject]) -> list[KubeObject]:
    """Jobs that are over and need not be kept, oldest first."""
    over = sorted((job for job in jobs if is_over(job)), key=created_at)
    good = [job for job in over if _is_complete(job)]
    bad = [job for job in over if not _is_complete(job)]
    limits = (
        (good, cron_job.spec.successfulJobsHistoryLimit, 3),
        (bad, cron_job.spec.failedJobsHistoryLimit, 1),
    )
    found: list[KubeObject] = []
    for kept, limit, default in limits:
        excess = len(kept) - (default if limit is None else int(limit))
        found += kept[: max(0, excess)]
    return found


def _is_complete(job: KubeObject) -> bool:
    found = conditions.find((job.status or {}).get("conditions"), "Complete")
    return found is not None and found.get("status") == "True"


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
    ends = [job.status.completionTime for job in jobs if _is_complete(job)]
    if last := max(filter(None, [before, *ends]), default=""):
        status["lastSuccessfulTime"] = last
    return status


# Acting


class CronJobs:
    """Looks at one CronJob at a time."""

    def __init__(self, setting: Setting) -> None:
        self._client = setting.client
        self._clock = setting.clock
        self._recorder = setting.recorder("cronjob-controller")
        self.informer = setting.informers.informer("cronjobs.batch")
        self.jobs = setting.owned("jobs.batch")
        self.writes = OwnWrites()

    async def sync(self, cron_job: KubeObject) -> Result | None:
        if is_deleting(cron_job):
            return None
        now = self._clock.now()
        jobs = self.writes.remaining(
            cron_job.key, self.jobs.indexer.by_index(CONTROLLER_INDEX, cron_job.uid)
        )
        for job in beyond_history(cron_job, jobs):
            await self._delete(cron_job, job)
        active = [job for job in jobs if not is_over(job)]
        at = str((cron_job.status or {}).get("lastScheduleTime") or "")
        found = due(cron_job, now)
        if found.moment is not None and not cron_job.spec.suspend:
            started = await self._start(cron_job, active, found.moment)
            if started is not None:
                replaced = cron_job.spec.concurrencyPolicy == "Replace"
                active = [started] if replaced else [*active, started]
                at = format_time(found.moment)
        await self._write_status(cron_job, status_of(cron_job, active, jobs, at))
        return Result(None if cron_job.spec.suspend else found.next_s)

    async def _start(
        self, cron_job: KubeObject, active: Sequence[KubeObject], moment: float
    ) -> KubeObject | None:
        policy = cron_job.spec.concurrencyPolicy
        if policy == "Forbid" and active:
            message = "Not starting job because prior execution is running and policy is Forbid"
            self._recorder.event(cron_job, "Normal", "JobAlreadyActive", message)
            return None
        if policy == "Replace":
            for job in active:
                await self._delete(cron_job, job)
        body = job_for(cron_job, moment)
        api = self._client.batch_v1.jobs(cron_job.namespace)
        try:
            created = await api.create(body)
        except AlreadyExists:
            created = await api.get(body["metadata"]["name"])
        self.writes.wrote(cron_job.key, self.jobs, created)
        message = f"Created job {created.name}"
        self._recorder.event(cron_job, "Normal", "SuccessfulCreate", message)
        return created

    async def _delete(self, cron_job: KubeObject, job: KubeObject) -> None:
        api = self._client.batch_v1.jobs(job.namespace)
        try:
            await api.delete(job.name, propagation="Background", uid=job.uid)
        except NotFound:
            return
        self.writes.deleted(cron_job.key, job)
        self._recorder.event(cron_job, "Normal", "SuccessfulDelete", f"Deleted job {job.name}")

    async def _write_status(self, cron_job: KubeObject, status: dict[str, Any]) -> None:
        if status == (cron_job.status or {}):
            return
        api = self._client.batch_v1.cronjobs(cron_job.namespace)
        written = await api.replace_status({**cron_job.to_dict(), "status": status})
        self.writes.wrote(cron_job.key, self.informer, written)
