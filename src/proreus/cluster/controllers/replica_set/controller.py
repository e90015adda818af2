"""The ReplicaSet controller: claims pods, creates and deletes them, writes the status.

Receives: keys of ReplicaSets, from their events and those of their pods.  Hands on: pods.
Cost: a look at all pods of a ReplicaSet each time (``seen`` makes it cheap). So one with many pods,
of which each change of one brings it back, is looked at less often the more it has.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

from proreus.api.object import KubeObject
from proreus.api.status import ApiError
from proreus.client.controller import Controller, Result
from proreus.cluster.controllers.batches import Failure, at_once, slowly
from proreus.cluster.controllers.ownership import (
    CONTROLLER_INDEX,
    candidates,
    controller_uid,
    is_namespace_terminating,
)
from proreus.cluster.controllers.pod_owners import PodOwners, next_availability_s, selector_of
from proreus.cluster.controllers.pod_template import is_active, pod_from_template
from proreus.cluster.controllers.replica_set.decisions import Plan, Trouble, plan, status_of
from proreus.cluster.controllers.replica_set.seen import PodsSeen, Seen
from proreus.cluster.controllers.setting import Setting

WORKERS = 10
_PAUSE_PER_POD_S = 0.0002  # five hundred pods: ten looks a second


def replica_set_controller(setting: Setting) -> Controller:
    owners = PodOwners(setting, "replicasets.apps", "replicaset-controller")
    sets = ReplicaSets(owners)
    return owners.controller(sets.sync, "replicaset", concurrency=WORKERS, gone=sets.forget)


@dataclass(frozen=True, slots=True)
class _Rest:
    generation: int
    until: float


class ReplicaSets:
    """Brings one ReplicaSet at a time to what it wants to be."""

    def __init__(self, owners: PodOwners) -> None:
        self._owners = owners
        self._clock = owners.clock
        self._rests: dict[str, _Rest] = {}
        self._seen = PodsSeen()

    async def sync(self, replica_set: KubeObject) -> Result | None:
        rest_s = self._rest_s(replica_set)
        if rest_s > 0:
            return Result(rest_s)
        known = self._seen.look(replica_set.key, candidates(self._owners.pods, replica_set))
        pause_s = len(known) * _PAUSE_PER_POD_S
        generation = replica_set.metadata.generation or 0
        self._rests[replica_set.key] = _Rest(generation, self._clock.monotonic() + pause_s)
        pods = await self._claim(replica_set, known)
        active = [seen.pod for seen in pods if seen.is_active]
        todo = plan(replica_set, active, partial(self._related, replica_set), self._clock.now())
        failures = await self._carry_out(replica_set, todo)
        if todo == Plan() or failures:
            # Otherwise the pods' own events bring the key back, and then there is news to write.
            trouble = _trouble(todo, failures)
            status = status_of(replica_set, pods, trouble, self._clock.now())
            await self._owners.write_status(replica_set, status)
        if failures:
            raise failures[0]
        objects = [seen.pod for seen in pods]
        return Result(next_availability_s(replica_set, objects, self._clock.now()))

    async def _claim(self, replica_set: KubeObject, known: list[Seen]) -> list[Seen]:
        """Its pods, without those it has deleted."""
        selector, uid = selector_of(replica_set), replica_set.uid
        if all(one.controller == uid and selector.matches(one.pod.labels) for one in known):
            mine = self._owners.writes.remaining(replica_set.key, (one.pod for one in known))
        else:
            found = [one.pod for one in known if one.controller or not one.is_finished]
            mine = await self._owners.claim(replica_set, found)
        # Those that were adopted just now are there in their newest version.
        by_version = {(one.pod.uid, one.pod.resource_version): one for one in known}
        return [by_version.get((pod.uid, pod.resource_version)) or Seen.of(pod) for pod in mine]

    def forget(self, key: str) -> None:
        self._rests.pop(key, None)
        self._seen.forget(key)

    def _rest_s(self, replica_set: KubeObject) -> float:
        """How long to leave it alone; what its owner asks for does not wait."""
        rest = self._rests.get(replica_set.key)
        if rest is None or rest.generation != (replica_set.metadata.generation or 0):
            return 0.0
        return rest.until - self._clock.monotonic()

    def _related(self, replica_set: KubeObject) -> list[KubeObject]:
        """The active pods of all ReplicaSets with the same controller."""
        owner = controller_uid(replica_set)
        indexer = self._owners.informer.indexer
        siblings = indexer.by_index(CONTROLLER_INDEX, owner) if owner else [replica_set]
        return [
            pod
            for sibling in siblings
            for pod in self._owners.pods.indexer.by_index(CONTROLLER_INDEX, sibling.uid)
            if is_active(pod)
        ]

    async def _carry_out(self, replica_set: KubeObject, todo: Plan) -> list[Failure]:
        if todo.create:
            pod = pod_from_template(replica_set.spec.template, replica_set)
            failures = await slowly([pod] * todo.create, partial(self._owners.create, replica_set))
            if any(isinstance(one, ApiError) and is_namespace_terminating(one) for one in failures):
                return []
            return failures
        return await at_once(todo.delete, partial(self._owners.delete, replica_set))


def _trouble(todo: Plan, failures: list[Failure]) -> Trouble | None:
    if not failures:
        return None
    return Trouble("FailedCreate" if todo.create else "FailedDelete", str(failures[0]))
