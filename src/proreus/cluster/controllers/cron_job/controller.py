"""The CronJob controller: starts Jobs when their time comes, and clears old ones away.

Receives: keys of CronJobs, from their events, those of their Jobs, and the clock.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from proreus.api.object import KubeObject
from proreus.api.status import AlreadyExists, ApiError, NotFound
from proreus.api.values.cron import CronError
from proreus.api.values.timestamp import format_time
from proreus.client.controller import Controller, Result
from proreus.cluster.controllers.cron_job.decisions import (
    beyond_history,
    job_for,
    news,
    status_of,
)
from proreus.cluster.controllers.cron_job.moments import MISSED_MAX, Due, due
from proreus.cluster.controllers.job.verdict import is_over
from proreus.cluster.controllers.own_writes import OwnWrites, reconciling
from proreus.cluster.controllers.ownership import (
    CONTROLLER_INDEX,
    controller_uid,
    is_deleting,
    is_namespace_terminating,
)
from proreus.cluster.controllers.setting import Setting

WORKERS = 5


def cron_job_controller(setting: Setting) -> Controller:
    sync = CronJobs(setting)
    return Controller(
        reconciling(sync.informer, sync.writes, sync.sync),
        sync.informer,
        owns=[sync.jobs],
        name="cronjob",
        concurrency=WORKERS,
    )


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
        jobs = self.writes.remaining(
            cron_job.key, self.jobs.indexer.by_index(CONTROLLER_INDEX, cron_job.uid)
        )
        for told in news(cron_job, jobs):
            self._recorder.event(cron_job, "Normal", told.reason, told.message)
        old = beyond_history(cron_job, jobs)
        for job in old:
            await self._delete(cron_job, job)
        active = [job for job in jobs if not is_over(job)]
        at = str((cron_job.status or {}).get("lastScheduleTime") or "")
        found = None if cron_job.spec.suspend else self._due(cron_job)
        if found is not None and found.moment is not None:
            started = await self._start(cron_job, active, found.moment)
            if started is not None:
                replaced = cron_job.spec.concurrencyPolicy == "Replace"
                others = [] if replaced else [job for job in active if job.uid != started.uid]
                active = others if is_over(started) else [*others, started]
                at = format_time(found.moment)
        await self._write_status(cron_job, status_of(cron_job, active, jobs, at))
        return Result(None if found is None else found.next_s)

    def _due(self, cron_job: KubeObject) -> Due | None:
        try:
            found = due(cron_job, self._clock.now())
        except CronError as problem:
            message = f'unparseable schedule: "{cron_job.spec.schedule}" : {problem}'
            self._recorder.event(cron_job, "Warning", "UnparseableSchedule", message)
            return None
        except (KeyError, ValueError) as problem:
            message = f'invalid timeZone: "{cron_job.spec.timeZone}": {problem}'
            self._recorder.event(cron_job, "Warning", "UnknownTimeZone", message)
            return None
        if found.missed > MISSED_MAX:
            message = (
                "too many missed start times. Set or decrease .spec.startingDeadlineSeconds or "
                "check clock skew"
            )
            self._recorder.event(cron_job, "Warning", "TooManyMissedTimes", message)
        return found

    async def _start(
        self, cron_job: KubeObject, active: Sequence[KubeObject], moment: float
    ) -> KubeObject | None:
        """None if the policy, or somebody else's Job of that name, is in the way."""
        policy = cron_job.spec.concurrencyPolicy
        if policy == "Forbid" and active:
            message = (
                "Not starting job because prior execution is running and concurrency policy is "
                "Forbid"
            )
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
            existing = await api.get(body["metadata"]["name"])
            return existing if controller_uid(existing) == cron_job.uid else None
        except ApiError as refused:
            if not is_namespace_terminating(refused):
                message = f"Error creating job: {refused.message}"
                self._recorder.event(cron_job, "Warning", "FailedCreate", message)
            raise
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
