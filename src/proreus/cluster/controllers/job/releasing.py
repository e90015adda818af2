"""Letting go of pods: a Job has counted them and takes its finalizer off, or it is gone itself."""

from __future__ import annotations

from proreus.api.object import KubeObject
from proreus.api.status import Invalid, NotFound
from proreus.client.controller import Controller, Request, Watch
from proreus.client.informer import Notification
from proreus.cluster.controllers.job.tally import FINALIZER, is_held
from proreus.cluster.controllers.ownership import CONTROLLER_INDEX, controller_of
from proreus.cluster.controllers.pod_owners import PodOwners
from proreus.cluster.controllers.setting import Setting

_MARK = FINALIZER.encode()


def _patch(pod: KubeObject) -> dict[str, object]:
    return {"metadata": {"uid": pod.uid, "$deleteFromPrimitiveList/finalizers": [FINALIZER]}}


async def let_go(owners: PodOwners, job: KubeObject, pod: KubeObject) -> None:
    api = owners.client.core_v1.pods(pod.namespace)
    try:
        written = await api.patch(pod.name, _patch(pod), type="strategic")
    except (NotFound, Invalid):
        return  # gone, or another pod has its name
    owners.writes.wrote(job.key, owners.pods, written)


def orphaned_pods_controller(setting: Setting) -> Controller:
    """Pods that are held for a Job that does not exist, or not for them, would be held for ever."""
    sync = OrphanedPods(setting)
    of_jobs = Watch(sync.jobs, sync.keys_of_job, when=lambda told: told.new is None)
    return Controller(
        sync.reconcile,
        Watch(sync.pods, when=is_held_pod),
        watches=[of_jobs],
        name="job-orphans",
    )


def is_held_pod(told: Notification) -> bool:
    """Without decoding: most pods are of no Job."""
    return told.new is not None and _MARK in told.new.raw


class OrphanedPods:
    """Looks at one pod at a time."""

    def __init__(self, setting: Setting) -> None:
        self._client = setting.client
        self.jobs = setting.owned("jobs.batch")
        self.pods = setting.owned("pods")

    def keys_of_job(self, job: KubeObject) -> list[str]:
        return [pod.key for pod in self.pods.indexer.by_index(CONTROLLER_INDEX, job.uid)]

    async def reconcile(self, request: Request) -> None:
        pod = request.object
        if pod is None or not is_held(pod) or await self._has_job(pod):
            return
        try:
            api = self._client.core_v1.pods(pod.namespace)
            await api.patch(pod.name, _patch(pod), type="strategic")
        except (NotFound, Invalid):
            return

    async def _has_job(self, pod: KubeObject) -> bool:
        """The server is asked too: the cache may have heard of the pod before its Job."""
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
