"""Removing the tracking finalizer from pods that are counted, and from those without their Job."""

from __future__ import annotations

import contextlib

from proreus.api.object import KubeObject
from proreus.api.status import Conflict, Invalid, NotFound
from proreus.client.client import Client
from proreus.client.controller import Controller, Request, Result, Watch
from proreus.client.informer import Notification
from proreus.client.ownership import controller_of
from proreus.cluster.controllers.context import ControllerContext
from proreus.cluster.controllers.job.outcome import is_job_finished
from proreus.cluster.controllers.job.pod_counts import FINALIZER, is_tracked
from proreus.cluster.controllers.ownership import CONTROLLER_INDEX
from proreus.cluster.controllers.pod_owners import selector_of
from proreus.cluster.pod_status import is_deleting

_MARK = FINALIZER.encode()
_ADOPTION_S = 10.0
_JOB_NAME = "batch.kubernetes.io/job-name"


def _patch(pod: KubeObject, **guard: str) -> dict[str, object]:
    dropped = {"$deleteFromPrimitiveList/finalizers": [FINALIZER]}
    return {"metadata": {"uid": pod.uid, **guard, **dropped}}


async def remove_tracking_finalizer(client: Client, pod: KubeObject) -> None:
    with contextlib.suppress(NotFound, Invalid):  # gone, or another pod has its name
        api = client.core_v1.pods(pod.namespace)
        await api.patch(pod.name, _patch(pod), type="strategic")


def orphaned_pods_controller(context: ControllerContext) -> Controller:
    """Pods with the finalizer of a Job that is gone or does not own them would stay for ever."""
    sync = OrphanedPods(context)
    of_jobs = Watch(sync.jobs, sync.keys_of_job, when=lambda notification: notification.new is None)
    return Controller(
        sync.reconcile, sync.pods, when=is_tracked_pod, watches=[of_jobs], name="job-orphans"
    )


def is_tracked_pod(notification: Notification) -> bool:
    """Without decoding: most pods are of no Job."""
    return notification.new is not None and _MARK in notification.new.raw


class OrphanedPods:
    """Reconciles pods that have the finalizer."""

    def __init__(self, context: ControllerContext) -> None:
        self._client = context.client
        self.jobs = context.owned_informer("jobs.batch")
        self.pods = context.owned_informer("pods")

    def keys_of_job(self, job: KubeObject) -> list[str]:
        return [pod.key for pod in self.pods.indexer.by_index(CONTROLLER_INDEX, job.uid)]

    async def reconcile(self, request: Request) -> Result | None:
        pod = request.object
        if pod is None or not is_tracked(pod) or await self._has_job(pod):
            return None
        if await self._is_adopted(pod):
            return Result(_ADOPTION_S)  # it is about to be that Job's, unless the Job ends first
        # The version guards against a Job that adopts the pod at this moment and counts on it.
        guarded = _patch(pod, resourceVersion=pod.resource_version)
        try:
            api = self._client.core_v1.pods(pod.namespace)
            await api.patch(pod.name, guarded, type="strategic")
        except (NotFound, Invalid, Conflict):
            pass  # gone, or its next version is on its way here
        return None

    async def _has_job(self, pod: KubeObject) -> bool:
        """A live read confirms absence: the cache may have the pod before its Job."""
        owner = controller_of(pod)
        if owner is None or owner.get("kind") != "Job":
            return False
        known = self.jobs.indexer.get(f"{pod.namespace}/{owner['name']}")
        if known is None or known.uid != owner["uid"]:
            try:
                known = await self._client.batch_v1.jobs(pod.namespace).get(owner["name"])
            except NotFound:
                return False
        return bool(known.uid == owner["uid"])

    async def _is_adopted(self, pod: KubeObject) -> bool:
        """Whether an open Job is about to take a pod without a controller."""
        if not pod.labels or pod.controller_uid or is_deleting(pod):
            return False
        known = self.jobs.lister.list(namespace=pod.namespace)
        if any(_takes(job, pod) for job in known):
            return True
        name = pod.labels.get(_JOB_NAME)
        if not name or self.jobs.indexer.get(f"{pod.namespace}/{name}") is not None:
            return False
        try:
            return _takes(await self._client.batch_v1.jobs(pod.namespace).get(name), pod)
        except NotFound:
            return False


def _takes(job: KubeObject, pod: KubeObject) -> bool:
    is_open = not is_job_finished(job) and not is_deleting(job)
    return is_open and selector_of(job).matches(pod.labels)
