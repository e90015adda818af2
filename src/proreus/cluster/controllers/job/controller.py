"""The Job controller: starts and stops pods, judges, counts, writes the status, in time deletes.

Receives: keys of Jobs, from their events and those of their pods.  Hands on: pods.
"""

from __future__ import annotations

import contextlib
from functools import partial
from typing import Any

from proreus.api.object import KubeObject
from proreus.api.status import NotFound
from proreus.client.controller import Controller, Result
from proreus.cluster.controllers.batches import Failure, at_once, slowly
from proreus.cluster.controllers.job.accounting import account, is_suspended
from proreus.cluster.controllers.job.decisions import Plan, Start, plan
from proreus.cluster.controllers.job.indexes import FAILURES, IGNORED, INDEX
from proreus.cluster.controllers.job.moment import Moment, look
from proreus.cluster.controllers.job.releasing import let_go
from proreus.cluster.controllers.job.tally import FINALIZER, is_held
from proreus.cluster.controllers.job.verdict import Verdict, is_over, ttl_s
from proreus.cluster.controllers.ownership import is_deleting
from proreus.cluster.controllers.pod_owners import PodOwners
from proreus.cluster.controllers.pod_template import is_ready, pod_from_template
from proreus.cluster.controllers.setting import Setting

WORKERS = 10
MANAGER = "kubernetes.io/job-controller"


def job_controller(setting: Setting) -> Controller:
    owners = PodOwners(setting, "jobs.batch", "job-controller", finalizers=(FINALIZER,))
    return owners.controller(Jobs(owners).sync, "job", concurrency=WORKERS)


class Jobs:
    """Brings one Job at a time further."""

    def __init__(self, owners: PodOwners) -> None:
        self._owners = owners
        self._clock = owners.clock

    async def sync(self, job: KubeObject) -> Result | None:
        if job.spec.managedBy not in (None, MANAGER):
            return None
        if is_over(job):
            return await self._expire(job)
        pods = await self._owners.claim(job)
        if is_deleting(job):
            await self._let_go(job, [pod for pod in pods if is_held(pod)])
            return None
        moment = look(job, pods, self._clock.now())
        todo = plan(moment)
        started, failures = await self._carry_out(moment, todo)
        stopped = {pod.uid for pod in todo.stop}
        kept = [pod for pod in moment.counted.active if pod.uid not in stopped]
        ready = sum(map(is_ready, kept))
        found = account(moment, active=len(kept) + started, ready=ready)
        written = await self._owners.write_status(job, found.status)
        self._tell(job, written, moment.verdict)
        failures += await self._let_go(job, found.let_go)
        if failures:
            raise failures[0]
        return await self._expire(written) if is_over(written) else Result(todo.again_s)

    async def _carry_out(self, moment: Moment, todo: Plan) -> tuple[int, list[Failure]]:
        """How many pods were started, and what failed."""
        job, started = moment.job, 0

        async def stop(pod: KubeObject) -> None:
            if moment.verdict is None and is_held(pod):
                # Nobody needs it any more: its end shall not count as a failure.
                await let_go(self._owners, job, pod)
            await self._owners.delete(job, pod)

        async def start(wanted: Start) -> None:
            nonlocal started
            await self._owners.create(job, pod_of(job, wanted))
            started += 1

        failures = [*await at_once(todo.stop, stop), *await slowly(todo.start, start)]
        return started, failures

    async def _let_go(
        self, job: KubeObject, pods: list[KubeObject] | tuple[KubeObject, ...]
    ) -> list[Failure]:
        return await at_once(pods, partial(let_go, self._owners, job))

    async def _expire(self, job: KubeObject) -> Result | None:
        left_s = ttl_s(job, self._clock.now())
        if left_s == 0:
            api = self._owners.resource(job.namespace)
            with contextlib.suppress(NotFound):
                await api.delete(job.name, propagation="Foreground", uid=job.uid)
            return None
        return Result(left_s)

    def _tell(self, before: KubeObject, after: KubeObject, verdict: Verdict | None) -> None:
        recorder = self._owners.recorder
        if is_suspended(after) != is_suspended(before):
            word = "Suspended" if is_suspended(after) else "Resumed"
            recorder.event(before, "Normal", word, f"Job {word.lower()}")
        if verdict is None or not is_over(after):
            return
        if verdict.is_success:
            recorder.event(before, "Normal", "Completed", "Job completed")
        else:
            recorder.event(before, "Warning", verdict.reason, verdict.message)


def pod_of(job: KubeObject, wanted: Start) -> dict[str, Any]:
    """A pod that is held until it is counted."""
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
    _tell_index(pod["spec"], f"{job.name}-{index}")
    return pod


def _tell_index(spec: dict[str, Any], hostname: str) -> None:
    """Where the program in a pod finds which part of the work is its own."""
    spec.setdefault("hostname", hostname)
    source = {"fieldRef": {"fieldPath": f"metadata.labels['{INDEX}']"}}
    told = {"name": "JOB_COMPLETION_INDEX", "valueFrom": source}
    for kind in ("initContainers", "containers"):
        for container in spec.get(kind) or ():
            env = container.get("env") or []
            if not any(one["name"] == told["name"] for one in env):
                container["env"] = [*env, told]
