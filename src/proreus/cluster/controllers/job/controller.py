"""The Job controller: starts and stops pods, judges, writes the status, and in time deletes.

Receives: keys of Jobs, from their events and those of their pods.  Hands on: pods.
"""

from __future__ import annotations

from functools import partial
from typing import Any

from proreus.api.object import KubeObject
from proreus.api.selectors.labels import LabelSelector
from proreus.api.status import ApiError, NotFound
from proreus.client.controller import Controller, Result
from proreus.cluster.controllers.batches import at_once, slowly
from proreus.cluster.controllers.job.decisions import (
    INDEX,
    Plan,
    Verdict,
    is_over,
    plan,
    status_of,
    ttl_s,
)
from proreus.cluster.controllers.own_writes import OwnWrites, reconciling
from proreus.cluster.controllers.ownership import Claiming, candidates, claim, is_deleting
from proreus.cluster.controllers.pod_template import pod_from_template
from proreus.cluster.controllers.setting import Setting

WORKERS = 10


def job_controller(setting: Setting) -> Controller:
    sync = Jobs(setting)
    return Controller(
        reconciling(sync.informer, sync.writes, sync.sync),
        sync.informer,
        owns=[sync.pods],
        name="job",
        concurrency=WORKERS,
    )


class Jobs:
    """Brings one Job at a time further."""

    def __init__(self, setting: Setting) -> None:
        self._client = setting.client
        self._clock = setting.clock
        self._recorder = setting.recorder("job-controller")
        self.informer = setting.owned("jobs.batch")
        self.pods = setting.owned("pods")
        self.writes = OwnWrites()

    async def sync(self, job: KubeObject) -> Result | None:
        if is_over(job):
            return await self._expire(job)
        if is_deleting(job):
            return None
        pods = self.writes.remaining(job.key, await self._claim(job))
        todo = plan(job, pods, self._clock.now())
        failures = [
            *await at_once(todo.stop, partial(self._stop, job)),
            *await slowly(todo.start, partial(self._start, job)),
        ]
        if not failures:
            await self._write_status(job, pods, todo)
            return Result(todo.again_s)
        raise failures[0]

    async def _expire(self, job: KubeObject) -> Result | None:
        left_s = ttl_s(job, self._clock.now())
        if left_s == 0:
            api = self._client.batch_v1.jobs(job.namespace)
            try:
                await api.delete(job.name, propagation="Background", uid=job.uid)
            except NotFound:
                return None
            return None
        return Result(left_s)

    async def _claim(self, job: KubeObject) -> list[KubeObject]:
        claiming = Claiming(
            self._client.batch_v1.jobs,
            self._client.core_v1.pods,
            partial(self.writes.wrote, job.key, self.pods),
        )
        selector = LabelSelector.from_object(job.spec.selector)
        return await claiming.carry_out(job, claim(job, candidates(self.pods, job), selector))

    async def _start(self, job: KubeObject, index: int | None) -> None:
        pod = pod_from_template(job.spec.template, job)
        if index is not None:
            _give_index(pod, job, index)
        try:
            created = await self._client.core_v1.pods(job.namespace).create(pod)
        except ApiError as refused:
            message = f"Error creating: {refused.message}"
            self._recorder.event(job, "Warning", "FailedCreate", message)
            raise
        self.writes.wrote(job.key, self.pods, created)
        self._recorder.event(job, "Normal", "SuccessfulCreate", f"Created pod: {created.name}")

    async def _stop(self, job: KubeObject, pod: KubeObject) -> None:
        try:
            await self._client.core_v1.pods(pod.namespace).delete(pod.name, uid=pod.uid)
        except NotFound:
            return
        self.writes.deleted(job.key, pod)
        self._recorder.event(job, "Normal", "SuccessfulDelete", f"Deleted pod: {pod.name}")

    async def _write_status(self, job: KubeObject, pods: list[KubeObject], todo: Plan) -> None:
        if todo.start and (job.status or {}).get("startTime"):
            return  # the events of the new pods bring the Job back
        status = status_of(job, pods, todo.verdict, self._clock.now())
        if status == job.status:
            return
        api = self._client.batch_v1.jobs(job.namespace)
        written = await api.replace_status({**job.to_dict(), "status": status})
        self.writes.wrote(job.key, self.informer, written)
        if todo.verdict is not None:
            self._tell(job, todo.verdict)

    def _tell(self, job: KubeObject, verdict: Verdict) -> None:
        if verdict.is_success:
            self._recorder.event(job, "Normal", "Completed", "Job completed")
        else:
            self._recorder.event(job, "Warning", verdict.reason, verdict.message)


def _give_index(pod: dict[str, Any], job: KubeObject, index: int) -> None:
    """Where the program in it finds which part of the work is its own."""
    metadata = pod["metadata"]
    metadata["generateName"] = f"{job.name}-{index}-"
    metadata["annotations"] = {**(metadata.get("annotations") or {}), INDEX: str(index)}
    metadata["labels"] = {**(metadata.get("labels") or {}), INDEX: str(index)}
    pod["spec"].setdefault("hostname", f"{job.name}-{index}")
    for container in pod["spec"].get("containers") or ():
        env = [one for one in container.get("env") or () if one["name"] != "JOB_COMPLETION_INDEX"]
        container["env"] = [*env, {"name": "JOB_COMPLETION_INDEX", "value": str(index)}]
