"""The ReplicaSet controller: claims pods, creates and deletes them, writes the status.

Receives: keys of ReplicaSets, from their events and those of their pods.  Hands on: pods.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial

from proreus.api.object import KubeObject
from proreus.api.selectors.labels import LabelSelector
from proreus.api.status import ApiError, NotFound
from proreus.client.controller import Controller, Result, Watch
from proreus.cluster.controllers.batches import Failure, at_once, slowly
from proreus.cluster.controllers.own_writes import OwnWrites, reconciling
from proreus.cluster.controllers.ownership import (
    CONTROLLER_INDEX,
    Claiming,
    candidates,
    claim,
    controller_of,
    controller_uid,
    is_namespace_terminating,
)
from proreus.cluster.controllers.pod_template import is_active, is_finished, pod_from_template
from proreus.cluster.controllers.replica_set.decisions import (
    Plan,
    Trouble,
    next_availability_s,
    plan,
    status_of,
)
from proreus.cluster.controllers.setting import Setting

WORKERS = 10


def replica_set_controller(setting: Setting) -> Controller:
    sync = ReplicaSets(setting)
    return Controller(
        reconciling(sync.informer, sync.writes, sync.sync),
        sync.informer,
        owns=[sync.pods],
        watches=[Watch(sync.pods, sync.keys_of_orphan)],
        name="replicaset",
        concurrency=WORKERS,
    )


class ReplicaSets:
    """Brings one ReplicaSet at a time to what it wants to be."""

    def __init__(self, setting: Setting) -> None:
        self._client = setting.client
        self._clock = setting.clock
        self._recorder = setting.recorder("replicaset-controller")
        self.informer = setting.owned("replicasets.apps")
        self.pods = setting.owned("pods")
        self.writes = OwnWrites()

    def keys_of_orphan(self, pod: KubeObject) -> list[str]:
        """A pod that nobody controls concerns everyone who would take it."""
        if controller_of(pod) is not None or not pod.labels:
            return []
        return [
            replica_set.key
            for replica_set in self.informer.lister.list(namespace=pod.namespace)
            if LabelSelector.from_object(replica_set.spec.selector).matches(pod.labels)
        ]

    async def sync(self, replica_set: KubeObject) -> Result | None:
        key = replica_set.key
        pods = self.writes.remaining(key, await self._claim(replica_set))
        active = [pod for pod in pods if is_active(pod)]
        todo = plan(replica_set, active, self._related(replica_set), self._clock.now())
        failures = await self._carry_out(replica_set, todo)
        trouble = _trouble(todo, failures)
        if todo == Plan() or failures:
            # Otherwise the pods' own events bring the key back, and then there is news to write.
            await self._write_status(replica_set, pods, trouble)
        if failures:
            raise failures[0]
        return Result(next_availability_s(replica_set, pods, self._clock.now()))

    async def _claim(self, replica_set: KubeObject) -> list[KubeObject]:
        selector = LabelSelector.from_object(replica_set.spec.selector)
        found = [
            pod
            for pod in candidates(self.pods, replica_set)
            if controller_uid(pod) or not is_finished(pod)
        ]
        claiming = Claiming(
            self._client.apps_v1.replicasets,
            self._client.core_v1.pods,
            partial(self.writes.wrote, replica_set.key, self.pods),
        )
        return await claiming.carry_out(replica_set, claim(replica_set, found, selector))

    def _related(self, replica_set: KubeObject) -> list[KubeObject]:
        """The active pods of all ReplicaSets with the same controller."""
        owner = controller_uid(replica_set)
        siblings = (
            self.informer.indexer.by_index(CONTROLLER_INDEX, owner) if owner else [replica_set]
        )
        return [
            pod
            for sibling in siblings
            for pod in self.pods.indexer.by_index(CONTROLLER_INDEX, sibling.uid)
            if is_active(pod)
        ]

    async def _carry_out(self, replica_set: KubeObject, todo: Plan) -> list[Failure]:
        if todo.create:
            failures = await slowly(range(todo.create), lambda _: self._create_pod(replica_set))
            if any(isinstance(one, ApiError) and is_namespace_terminating(one) for one in failures):
                return []
            return failures
        return await at_once(todo.delete, partial(self._delete_pod, replica_set))

    async def _create_pod(self, replica_set: KubeObject) -> None:
        pod = pod_from_template(replica_set.spec.template, replica_set)
        try:
            created = await self._client.core_v1.pods(replica_set.namespace).create(pod)
        except ApiError as refused:
            if not is_namespace_terminating(refused):
                message = f"Error creating: {refused.message}"
                self._recorder.event(replica_set, "Warning", "FailedCreate", message)
            raise
        self.writes.wrote(replica_set.key, self.pods, created)
        message = f"Created pod: {created.name}"
        self._recorder.event(replica_set, "Normal", "SuccessfulCreate", message)

    async def _delete_pod(self, replica_set: KubeObject, pod: KubeObject) -> None:
        try:
            await self._client.core_v1.pods(pod.namespace).delete(pod.name, uid=pod.uid)
        except NotFound:
            pass
        except ApiError as refused:
            message = f"Error deleting: {refused.message}"
            self._recorder.event(replica_set, "Warning", "FailedDelete", message)
            raise
        self.writes.deleted(replica_set.key, pod)
        message = f"Deleted pod: {pod.name}"
        self._recorder.event(replica_set, "Normal", "SuccessfulDelete", message)

    async def _write_status(
        self, replica_set: KubeObject, pods: Iterable[KubeObject], trouble: Trouble | None
    ) -> None:
        status = status_of(replica_set, list(pods), trouble, self._clock.now())
        if replica_set.status == status:
            return
        content = {**replica_set.to_dict(), "status": status}
        written = await self._client.apps_v1.replicasets(replica_set.namespace).replace_status(
            content
        )
        self.writes.wrote(replica_set.key, self.informer, written)


def _trouble(todo: Plan, failures: list[Failure]) -> Trouble | None:
    if not failures:
        return None
    return Trouble("FailedCreate" if todo.create else "FailedDelete", str(failures[0]))
