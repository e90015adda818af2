"""The disruption controller: keeps budgets up to date, so that evictions may be granted.

Receives: keys of PodDisruptionBudgets, from their events and those of pods they select.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from proreus.api.object import KubeObject
from proreus.api.status import ApiError
from proreus.client.controller import Controller, Result, Watch
from proreus.client.discovery.mapper import UnknownResource
from proreus.cluster.controllers.disruption.decisions import (
    counts_controllers,
    disrupted,
    failed_status,
    need,
    selects,
    status_of,
)
from proreus.cluster.controllers.own_writes import OwnWrites, reconciling
from proreus.cluster.controllers.ownership import controller_of
from proreus.cluster.controllers.setting import Setting

WORKERS = 5
Reference = Mapping[str, Any]
_BUDGETS = "poddisruptionbudgets.policy"


class NoScale(Exception):
    """Nobody says how many pods there should be."""


def disruption_controller(setting: Setting) -> Controller:
    sync = Disruption(setting)
    return Controller(
        reconciling(sync.informer, sync.writes, sync.sync),
        sync.informer,
        watches=[Watch(sync.pods, sync.keys_of_pod)],
        name="disruption",
        concurrency=WORKERS,
    )


class Disruption:
    """Looks at one budget at a time."""

    def __init__(self, setting: Setting) -> None:
        self._client = setting.client
        self._clock = setting.clock
        self._recorder = setting.recorder("controllermanager")
        self.informer = setting.informers.informer(_BUDGETS)
        self.pods = setting.owned("pods")
        self._scaled = {
            "Deployment": setting.informers.informer("deployments.apps"),
            "ReplicaSet": setting.owned("replicasets.apps"),
            "StatefulSet": setting.owned("statefulsets.apps"),
        }
        self.writes = OwnWrites()

    def keys_of_pod(self, pod: KubeObject) -> list[str]:
        budgets = self.informer.lister.list(namespace=pod.namespace)
        return [budget.key for budget in budgets if selects(budget, pod)]

    async def sync(self, budget: KubeObject) -> Result | None:
        now = self._clock.now()
        pods = [
            pod for pod in self.pods.lister.list(namespace=budget.namespace) if selects(budget, pod)
        ]
        gone = disrupted(budget, pods, now)
        for name in gone.overdue:
            message = f"Pod was expected by PDB {budget.key} to be deleted but it wasn't: {name}"
            self._recorder.event(budget, "Warning", "NotDeleted", message)
        try:
            expected = await self._expected(budget, pods)
        except NoScale as problem:
            self._recorder.event(budget, "Warning", "NoControllers", str(problem))
            await self._write(budget, failed_status(budget, str(problem), now))
            return None
        status = status_of(budget, pods, need(budget, expected), gone.waiting, now)
        await self._write(budget, status)
        return Result(gone.again_s)

    async def _write(self, budget: KubeObject, status: dict[str, object]) -> None:
        if (budget.status or {}) == status:
            return
        api = self._client.resource(_BUDGETS)(budget.namespace)
        written = await api.replace_status({**budget.to_dict(), "status": status})
        self.writes.wrote(budget.key, self.informer, written)

    async def _expected(self, budget: KubeObject, pods: Sequence[KubeObject]) -> int:
        if not counts_controllers(budget):
            return len(pods)
        roots = [owner for pod in pods if (owner := self._root(pod)) is not None]
        owners = {owner["uid"]: owner for owner in roots}
        return sum([await self._scale(budget.namespace, owner) for owner in owners.values()])

    def _root(self, pod: KubeObject) -> Reference | None:
        """What decides about the number of a pod's like: a Deployment, not its ReplicaSet. None for
        a pod on its own: nobody would replace it, so it is not expected."""
        owner: Reference | None = controller_of(pod)
        known = None if owner is None else self._known(pod.namespace, owner)
        if known is not None and known.kind == "ReplicaSet":
            return controller_of(known) or owner
        return owner

    def _known(self, namespace: str, owner: Reference) -> KubeObject | None:
        informer = self._scaled.get(owner["kind"])
        found = informer.indexer.get(f"{namespace}/{owner['name']}") if informer else None
        return found if found is not None and found.uid == owner["uid"] else None

    async def _scale(self, namespace: str, owner: Reference) -> int:
        """Of the kinds that are at hand from the cache, of others as the server says."""
        known = self._known(namespace, owner)
        if known is not None:
            return 1 if known.spec.replicas is None else int(known.spec.replicas)
        resource = self._client.resource(api_version=owner["apiVersion"], kind=owner["kind"])
        try:
            scale = await resource(namespace).get_scale(owner["name"])
        except (ApiError, UnknownResource) as problem:
            said = f"no scale of {owner['kind']} {owner['name']}: {problem}"
            raise NoScale(said) from problem
        return int(scale.spec.replicas or 0)
