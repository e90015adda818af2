"""The ReplicaSet controller: claims pods, creates and deletes them, writes the status.

A ReplicationController is an older spelling of a ReplicaSet: its selector is a plain map of labels
(``selector_of``) and its status has fewer fields (``status_of``). Both kinds run this code.
Receives: keys of ReplicaSets, from their events and those of their pods.  Hands on: pods.
Cost: each reconcile reads all pods of a ReplicaSet (``pod_summaries`` makes it cheap), and each
change of a pod causes one. So a pause follows each, longer the more pods there are, and longer
still where writing the status takes long: a server that is busy with the pods themselves is not
told ten times a second how far they are. The pause ends with the last pod that it waits for.
"""

from __future__ import annotations

from functools import partial

from proreus.api.object import KubeObject
from proreus.api.status import ApiError
from proreus.client.controller import Controller, Result
from proreus.cluster.controllers.batches import Failure, concurrently, slow_start
from proreus.cluster.controllers.context import ControllerContext
from proreus.cluster.controllers.ownership import (
    CONTROLLER_INDEX,
    candidates,
    is_namespace_terminating,
)
from proreus.cluster.controllers.pod_owners import (
    PodOwnerReconciler,
    selector_of,
    until_next_available_s,
)
from proreus.cluster.controllers.pod_template import pod_from_template
from proreus.cluster.controllers.replica_set.decisions import (
    Plan,
    ReplicaFailure,
    plan,
    status_of,
)
from proreus.cluster.controllers.replica_set.pause import Pause, pause_s
from proreus.cluster.controllers.replica_set.pod_summaries import PodSummaries, PodSummary


def replica_set_controller(context: ControllerContext) -> Controller:
    return _controller(context, "replicaset", "replicasets.apps", "replicaset-controller")


def replication_controller(context: ControllerContext) -> Controller:
    component = "replication-controller"
    return _controller(context, "replicationcontroller", "replicationcontrollers", component)


def _controller(context: ControllerContext, name: str, resource: str, component: str) -> Controller:
    return ReplicaSets(context, resource, component).pod_controller(name)


class ReplicaSets(PodOwnerReconciler):
    """Reconciles ReplicaSets, or ReplicationControllers."""

    def __init__(self, context: ControllerContext, resource: str, component: str) -> None:
        super().__init__(context, resource, component)
        self.informer = context.owned_informer(resource)
        self._pauses: dict[str, Pause] = {}
        self._summaries = PodSummaries()

    async def sync(self, replica_set: KubeObject) -> Result | None:
        pause_left_s = self._pause_left_s(replica_set)
        if pause_left_s > 0:
            return Result(pause_left_s)
        began = self.clock.monotonic()
        known = self._summaries.refresh(replica_set.key, candidates(self.pods, replica_set))
        pods = await self._claim_summaries(replica_set, known)
        active = [summary for summary in pods if summary.is_active]
        todo = plan(replica_set, active, partial(self._related, replica_set), self.clock.now())
        failures = await self._carry_out(replica_set, todo)
        if todo == Plan() or failures:
            # Otherwise the pods' own events bring the key back, and then there is news to write.
            failure = _replica_failure(todo, failures)
            status = status_of(replica_set, pods, failure, self.clock.now())
            await self.write_status(replica_set, status)
            now = self.clock.monotonic()
            until = now + pause_s(len(pods), now - began)
            generation = replica_set.metadata.generation or 0
            self._pauses[replica_set.key] = Pause(generation, until, pods)
        if failures:
            raise failures[0]
        objects = (summary.pod for summary in pods)
        return Result(until_next_available_s(replica_set, objects, self.clock.now()))

    async def _claim_summaries(
        self, replica_set: KubeObject, known: list[PodSummary]
    ) -> list[PodSummary]:
        """Its pods, without those it has deleted."""
        selector, uid = selector_of(replica_set), replica_set.uid
        matches = selector.matches
        if all(one.controller == uid and matches(one.pod.labels) for one in known):
            if not self.writes.has_deleted(replica_set.key):
                return known
            mine = self.writes.without_deleted(replica_set.key, (one.pod for one in known))
        else:
            found = [one.pod for one in known if one.controller or not one.is_finished]
            mine = await self.claim_pods(replica_set, found)
        # Those that were adopted just now are there in their newest version.
        by_version = {(one.pod.uid, one.pod.resource_version): one for one in known}
        return [
            by_version.get((pod.uid, pod.resource_version)) or PodSummary.of(pod) for pod in mine
        ]

    def forget(self, key: str) -> None:
        self._pauses.pop(key, None)
        self._summaries.forget(key)

    def _pause_left_s(self, replica_set: KubeObject) -> float:
        """A change of the spec does not wait."""
        pause = self._pauses.get(replica_set.key)
        if pause is None or pause.generation != (replica_set.metadata.generation or 0):
            return 0.0
        return pause.left_s(self.clock.monotonic(), self.pods.indexer.get)

    def _related(self, replica_set: KubeObject) -> list[PodSummary]:
        """The active pods of all ReplicaSets with the same controller."""
        owner = replica_set.controller_uid
        indexer = self.informer.indexer
        siblings = indexer.by_index(CONTROLLER_INDEX, owner) if owner else [replica_set]
        pods = self.pods.indexer
        return [
            summary
            for sibling in siblings
            for summary in self._summaries.of(
                sibling.key, pods.by_index(CONTROLLER_INDEX, sibling.uid)
            )
            if summary.is_active
        ]

    async def _carry_out(self, replica_set: KubeObject, todo: Plan) -> list[Failure]:
        if todo.create:
            pod = pod_from_template(replica_set.spec.template, replica_set)
            failures = await slow_start([pod] * todo.create, partial(self.create_pod, replica_set))
            if any(isinstance(one, ApiError) and is_namespace_terminating(one) for one in failures):
                return []
            return failures
        return await concurrently(todo.delete, partial(self.delete_pod, replica_set))


def _replica_failure(todo: Plan, failures: list[Failure]) -> ReplicaFailure | None:
    if not failures:
        return None
    return ReplicaFailure("FailedCreate" if todo.create else "FailedDelete", str(failures[0]))
