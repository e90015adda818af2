"""The CronJob controller: starts Jobs on schedule, and deletes those beyond the history limits.

Receives: keys of CronJobs, from their events, those of their Jobs, and the clock.
"""

from __future__ import annotations

from collections.abc import Sequence

from proreus.api.object import KubeObject
from proreus.api.status import AlreadyExists, ApiError, NotFound
from proreus.api.values.cron import CronError
from proreus.api.values.timestamp import format_time
from proreus.client.controller import Controller, Result
from proreus.cluster.controllers.context import ControllerContext
from proreus.cluster.controllers.cron_job.decisions import (
    beyond_history,
    job_events,
    job_for,
    status_of,
)
from proreus.cluster.controllers.cron_job.schedule_times import MISSED_MAX, Due, due
from proreus.cluster.controllers.job.outcome import is_job_finished
from proreus.cluster.controllers.ownership import CONTROLLER_INDEX, is_namespace_terminating
from proreus.cluster.controllers.reconciler import ObjectReconciler
from proreus.cluster.pod_status import is_deleting


def cron_job_controller(context: ControllerContext) -> Controller:
    cron_jobs = CronJobs(context)
    return cron_jobs.controller("cronjob", owns=[cron_jobs.jobs])


class CronJobs(ObjectReconciler):
    """Reconciles CronJobs."""

    def __init__(self, context: ControllerContext) -> None:
        super().__init__(context, "cronjobs.batch", "cronjob-controller")
        self.jobs = context.owned_informer("jobs.batch")

    async def sync(self, cron_job: KubeObject) -> Result | None:
        if is_deleting(cron_job):
            return None
        jobs = self.writes.without_deleted(
            cron_job.key, self.jobs.indexer.by_index(CONTROLLER_INDEX, cron_job.uid)
        )
        for event in job_events(cron_job, jobs):
            self.record(cron_job, event.reason, event.message)
        old = beyond_history(cron_job, jobs)
        for job in old:
            await self._delete(cron_job, job)
        active = [job for job in jobs if not is_job_finished(job)]
        at = str((cron_job.status or {}).get("lastScheduleTime") or "")
        found = None if cron_job.spec.suspend else self._due(cron_job)
        if found is not None and found.scheduled is not None:
            started = await self._start(cron_job, active, found.scheduled)
            if started is not None:
                replaced = cron_job.spec.concurrencyPolicy == "Replace"
                others = [] if replaced else [job for job in active if job.uid != started.uid]
                active = others if is_job_finished(started) else [*others, started]
                at = format_time(found.scheduled)
        await self.write_status(cron_job, status_of(cron_job, active, jobs, at))
        return Result(None if found is None else found.next_s)

    def _due(self, cron_job: KubeObject) -> Due | None:
        try:
            found = due(cron_job, self.clock.now())
        except CronError as problem:
            message = f'unparseable schedule: "{cron_job.spec.schedule}" : {problem}'
            self.warn(cron_job, "UnparseableSchedule", message)
            return None
        except (KeyError, ValueError) as problem:
            message = f'invalid timeZone: "{cron_job.spec.timeZone}": {problem}'
            self.warn(cron_job, "UnknownTimeZone", message)
            return None
        if found.missed > MISSED_MAX:
            message = (
                "too many missed start times. Set or decrease .spec.startingDeadlineSeconds or "
                "check clock skew"
            )
            self.warn(cron_job, "TooManyMissedTimes", message)
        return found

    async def _start(
        self, cron_job: KubeObject, active: Sequence[KubeObject], scheduled: float
    ) -> KubeObject | None:
        """None if the policy, or another owner's Job of that name, is in the way."""
        policy = cron_job.spec.concurrencyPolicy
        if policy == "Forbid" and active:
            message = (
                "Not starting job because prior execution is running and concurrency policy is "
                "Forbid"
            )
            self.record(cron_job, "JobAlreadyActive", message)
            return None
        if policy == "Replace":
            for job in active:
                await self._delete(cron_job, job)
        body = job_for(cron_job, scheduled)
        api = self.client.batch_v1.jobs(cron_job.namespace)
        try:
            created = await api.create(body)
        except AlreadyExists:
            existing = await api.get(body["metadata"]["name"])
            return existing if existing.controller_uid == cron_job.uid else None
        except ApiError as refused:
            if not is_namespace_terminating(refused):
                message = f"Error creating job: {refused.message}"
                self.warn(cron_job, "FailedCreate", message)
            raise
        message = f"Created job {created.name}"
        self.record(cron_job, "SuccessfulCreate", message)
        return created

    async def _delete(self, cron_job: KubeObject, job: KubeObject) -> None:
        api = self.client.batch_v1.jobs(job.namespace)
        try:
            await api.delete(job.name, propagation="Background", uid=job.uid)
        except NotFound:
            return
        self.record(cron_job, "SuccessfulDelete", f"Deleted job {job.name}")
