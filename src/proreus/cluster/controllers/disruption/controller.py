"""The disruption controller: keeps budgets up to date, so that evictions may be granted.

Receives: keys of PodDisruptionBudgets, from their events and those of pods they select.
"""

from __future__ import annotations

from collections.abc import Sequence

from proreus.api.json_types import Json
from proreus.api.object import KubeObject
from proreus.api.status import ApiError
from proreus.client.controller import Controller, Result, Watch
from proreus.client.discovery.mapper import UnknownResource
from proreus.client.ownership import controller_of
from proreus.cluster.controllers.context import ControllerContext
from proreus.cluster.controllers.disruption.decisions import (
    counts_controllers,
    disrupted,
    failed_status,
    need,
    selects,
    status_of,
)
from proreus.cluster.controllers.pod_template import desired_replicas
from proreus.cluster.controllers.reconciler import ObjectReconciler

Reference = Json


class NoScale(Exception):
    """No owner with a scale says how many pods there should be."""


def disruption_controller(context: ControllerContext) -> Controller:
    budgets = Disruption(context)
    of_pods = Watch(budgets.pods, budgets.keys_of_pod, among=budgets.informer.indexer.by_key)
    return budgets.controller("disruption", watches=[of_pods])


class Disruption(ObjectReconciler):
    """Reconciles PodDisruptionBudgets."""

    def __init__(self, context: ControllerContext) -> None:
        super().__init__(context, "poddisruptionbudgets.policy", "controllermanager")
        self.pods = context.owned_informer("pods")
        self._scaled = {
            "Deployment": context.informers.informer("deployments.apps"),
            "ReplicaSet": context.owned_informer("replicasets.apps"),
            "ReplicationController": context.owned_informer("replicationcontrollers"),
            "StatefulSet": context.owned_informer("statefulsets.apps"),
        }

    def keys_of_pod(self, pod: KubeObject) -> list[str]:
        budgets = self.informer.lister.list(namespace=pod.namespace)
        return [budget.key for budget in budgets if selects(budget, pod)]

    async def sync(self, budget: KubeObject) -> Result | None:
        now = self.clock.now()
        pods = [
            pod for pod in self.pods.lister.list(namespace=budget.namespace) if selects(budget, pod)
        ]
        gone = disrupted(budget, pods, now)
        for name in gone.overdue:
            message = f"Pod was expected by PDB {budget.key} to be deleted but it wasn't: {name}"
            self.warn(budget, "NotDeleted", message)
        try:
            expected = await self._expected(budget, pods)
        except NoScale as problem:
            self.warn(budget, "NoControllers", str(problem))
            await self.write_status(budget, failed_status(budget, str(problem), now))
            return None
        status = status_of(budget, pods, need(budget, expected), gone.waiting, now)
        await self.write_status(budget, status)
        return Result(gone.again_s)

    async def _expected(self, budget: KubeObject, pods: Sequence[KubeObject]) -> int:
        if not counts_controllers(budget):
            return len(pods)
        roots = [owner for pod in pods if (owner := self._root(pod)) is not None]
        owners = {owner["uid"]: owner for owner in roots}
        return sum([await self._scale(budget.namespace, owner) for owner in owners.values()])

    def _root(self, pod: KubeObject) -> Reference | None:
        """The owner whose scale counts: a Deployment, not its ReplicaSet. None for a pod without a
        controller: nothing would replace it, so it is not expected."""
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
        """From the cache for workload kinds, from the scale subresource for others."""
        known = self._known(namespace, owner)
        if known is not None:
            return desired_replicas(known)
        resource = self.client.resource(api_version=owner["apiVersion"], kind=owner["kind"])
        try:
            scale = await resource(namespace).get_scale(owner["name"])
        except (ApiError, UnknownResource) as problem:
            said = f"no scale of {owner['kind']} {owner['name']}: {problem}"
            raise NoScale(said) from problem
        return int(scale.spec.replicas or 0)
