"""The Job controller: creates and deletes pods, tracks them in the status, deletes after the TTL.

Receives: keys of Jobs, from their events and those of their pods.  Hands on: pods.
"""

from __future__ import annotations

import contextlib
from functools import partial

from proreus.api.json_types import JsonObject
from proreus.api.object import KubeObject
from proreus.api.status import NotFound
from proreus.client.controller import Controller, Result
from proreus.cluster.controllers.batches import Failure, concurrently, slow_start
from proreus.cluster.controllers.context import ControllerContext
from proreus.cluster.controllers.job.decisions import Plan, Start, plan
from proreus.cluster.controllers.job.indexes import FAILURES, IGNORED, INDEX
from proreus.cluster.controllers.job.outcome import (
    JobOutcome,
    has_too_many_successes,
    is_job_finished,
    ttl_s,
)
from proreus.cluster.controllers.job.pod_counts import FINALIZER, is_tracked
from proreus.cluster.controllers.job.state import JobState, observe
from proreus.cluster.controllers.job.status import is_suspended, status_update
from proreus.cluster.controllers.job.tracking_finalizer import remove_tracking_finalizer
from proreus.cluster.controllers.pod_owners import PodOwnerReconciler
from proreus.cluster.controllers.pod_template import pod_from_template
from proreus.cluster.pod_status import is_deleting, is_ready

MANAGER = "kubernetes.io/job-controller"


def job_controller(context: ControllerContext) -> Controller:
    return Jobs(context, "jobs.batch", "job-controller").pod_controller("job")


class Jobs(PodOwnerReconciler):
    """Reconciles Jobs."""

    finalizers = (FINALIZER,)

    def __init__(self, context: ControllerContext, resource: str, component: str) -> None:
        super().__init__(context, resource, component)
        # In Kubernetes jobs are deleted after their time by a controller of its own.
        self._expiring = context.client_of("ttl-after-finished-controller")

    async def sync(self, job: KubeObject) -> Result | None:
        if job.spec.managedBy not in (None, MANAGER):
            return None
        if is_job_finished(job):
            return await self._expire(job)
        pods = await self.claim_pods(job)
        if is_deleting(job):
            await self._remove_tracking_finalizers([pod for pod in pods if is_tracked(pod)])
            return None
        state = observe(job, pods, self.clock.now())
        todo = plan(state)
        started, failures = await self._carry_out(state, todo)
        stopped = {pod.uid for pod in todo.stop}
        kept = [pod for pod in state.counted.active if pod.uid not in stopped]
        ready = sum(map(is_ready, kept))
        found = status_update(
            state,
            active=len(kept) + started,
            ready=ready,
            stopped=len(state.counted.active) - len(kept),
        )
        written = await self.write_status(job, found.status)
        self._record(job, written, state.outcome)
        failures += await self._remove_tracking_finalizers(found.release)
        if failures:
            raise failures[0]
        return await self._expire(written) if is_job_finished(written) else Result(todo.again_s)

    async def _carry_out(self, state: JobState, todo: Plan) -> tuple[int, list[Failure]]:
        """How many pods were started, and what failed."""
        job, started = state.job, 0

        async def stop(pod: KubeObject) -> None:
            if state.outcome is None and is_tracked(pod):
                # It is not needed any more: its end must not count as a failure.
                await remove_tracking_finalizer(self.client, pod)
            await self.delete_pod(job, pod)

        async def start(wanted: Start) -> None:
            nonlocal started
            await self.create_pod(job, pod_of(job, wanted))
            started += 1

        failures = [*await concurrently(todo.stop, stop), *await slow_start(todo.start, start)]
        return started, failures

    async def _remove_tracking_finalizers(
        self, pods: list[KubeObject] | tuple[KubeObject, ...]
    ) -> list[Failure]:
        return await concurrently(pods, partial(remove_tracking_finalizer, self.client))

    async def _expire(self, job: KubeObject) -> Result | None:
        left_s = ttl_s(job, self.clock.now())
        if left_s == 0:
            jobs = self._expiring.batch_v1.jobs(job.namespace)
            with contextlib.suppress(NotFound):
                await jobs.delete(job.name, propagation="Foreground", uid=job.uid)
            return None
        return Result(left_s)

    def _record(self, before: KubeObject, after: KubeObject, outcome: JobOutcome | None) -> None:
        if is_suspended(after) != is_suspended(before):
            word = "Suspended" if is_suspended(after) else "Resumed"
            self.record(before, word, f"Job {word.lower()}")
        if outcome is None or not is_job_finished(after):
            return
        if outcome.is_success:
            if has_too_many_successes(after):
                text = "Too many succeeded pods running after completion count reached"
                self.warn(before, "TooManySucceededPods", text)
            self.record(before, "Completed", "Job completed")
        else:
            self.warn(before, outcome.reason, outcome.message)


def pod_of(job: KubeObject, wanted: Start) -> JsonObject:
    """A pod with the tracking finalizer, which stays until the pod is counted."""
    pod = pod_from_template(job.spec.template, job)
    metadata = pod["metadata"]
    metadata["finalizers"] = [*(metadata.get("finalizers") or ()), FINALIZER]
    if wanted.index is None:
        return pod
    index = str(wanted.index)
    annotations = {INDEX: index}
    if job.spec.backoffLimitPerIndex is not None:
        annotations[FAILURES] = str(wanted.failures)
        if wanted.ignored:
            annotations[IGNORED] = str(wanted.ignored)
    metadata["generateName"] = f"{job.name}-{index}-"
    metadata["annotations"] = {**(metadata.get("annotations") or {}), **annotations}
    metadata["labels"] = {**(metadata.get("labels") or {}), INDEX: index}
    _expose_index(pod["spec"], f"{job.name}-{index}")
    return pod


def _expose_index(spec: JsonObject, hostname: str) -> None:
    """By host name and environment variable."""
    spec.setdefault("hostname", hostname)
    source = {"fieldRef": {"fieldPath": f"metadata.labels['{INDEX}']"}}
    variable = {"name": "JOB_COMPLETION_INDEX", "valueFrom": source}
    for kind in ("initContainers", "containers"):
        for container in spec.get(kind) or ():
            env = container.get("env") or []
            if not any(one["name"] == variable["name"] for one in env):
                container["env"] = [*env, variable]
