"""The Deployment controller: each reconcile takes one step of a rollout.

Receives: keys of Deployments, from their events and those of their ReplicaSets; of pods only
deletions, for which Recreate waits.  Hands on: ReplicaSets.
Every step ends with the status; the events of what it wrote bring the next one.
"""

from __future__ import annotations

from collections.abc import Sequence

from proreus.api.object import KubeObject
from proreus.api.selectors.labels import LabelSelector
from proreus.client import conditions
from proreus.client.conditions import Condition
from proreus.client.controller import Controller, Result, Watch, owner_keys
from proreus.client.informer import ChangeType, Notification
from proreus.cluster.controllers.context import ControllerContext
from proreus.cluster.controllers.deployment.replica_sets import (
    REVISION,
    beyond_history,
    by_age,
    find_new,
    is_recreate,
    is_scaling_event,
    rollout_limits,
)
from proreus.cluster.controllers.deployment.rolling import (
    ReplicaSetScaling,
    all_to_zero,
    proportional,
    scale_down,
    scale_up,
)
from proreus.cluster.controllers.deployment.status import (
    has_deadline,
    is_complete,
    progress,
    status_of,
    until_deadline_s,
)
from proreus.cluster.controllers.deployment.writing import ReplicaSetWriter
from proreus.cluster.controllers.ownership import CONTROLLER_INDEX
from proreus.cluster.controllers.reconciler import ObjectReconciler
from proreus.cluster.pod_status import is_deleting, is_finished

MAX_RETRIES = 15


def deployment_controller(context: ControllerContext) -> Controller:
    deployments = Deployments(context)
    return deployments.controller(
        "deployment",
        owns=[deployments.replica_sets],
        watches=[
            Watch(deployments.replica_sets, deployments.keys_of_orphan),
            Watch(deployments.pods, deployments.keys_of_pod, when=is_deletion),
        ],
        concurrency=10,
        max_retries=MAX_RETRIES,
    )


def is_deletion(notification: Notification) -> bool:
    return notification.change is ChangeType.DELETE


class Deployments(ObjectReconciler):
    """Reconciles Deployments."""

    def __init__(self, context: ControllerContext) -> None:
        super().__init__(context, "deployments.apps", "deployment-controller")
        self.replica_sets = context.owned_informer("replicasets.apps")
        self.pods = context.owned_informer("pods")
        self._writer = ReplicaSetWriter(self, self.replica_sets)
        self._owners_of_replica_sets = owner_keys(self.informer)

    # Which Deployments a change concerns.

    def keys_of_orphan(self, replica_set: KubeObject) -> list[str]:
        if replica_set.controller_uid or not replica_set.labels:
            return []
        return [
            deployment.key
            for deployment in self.informer.lister.list(namespace=replica_set.namespace)
            if LabelSelector.from_object(deployment.spec.selector).matches(replica_set.labels)
        ]

    def keys_of_pod(self, pod: KubeObject) -> list[str]:
        replica_set = self.replica_sets.indexer.get(f"{pod.namespace}/{pod.controller_name}")
        if replica_set is None or replica_set.uid != pod.controller_uid:
            return []
        keys = self._owners_of_replica_sets(replica_set)
        found = [self.informer.indexer.get(key) for key in keys]
        return [one.key for one in found if one is not None and is_recreate(one)]

    # One step.

    async def sync(self, deployment: KubeObject) -> Result | None:
        selector = LabelSelector.from_object(deployment.spec.selector)
        if selector.is_empty:
            message = "This deployment is selecting all pods. A non-empty selector is required."
            self.warn(deployment, "SelectingAll", message)
            return None
        every = by_age(await self._claim(deployment, selector))
        new = find_new(deployment, every)
        old = [one for one in every if one is not new]
        if is_deleting(deployment):
            return await self._finish(deployment, new, old, rolling=False)
        if deployment.spec.paused or is_scaling_event(deployment, every):
            return await self._scale_only(deployment, new, old)
        return await self._roll(deployment, new, old)

    async def _claim(self, deployment: KubeObject, selector: LabelSelector) -> list[KubeObject]:
        api = self.client.apps_v1.replicasets
        claimed = await self.claim(deployment, self.replica_sets, api, selector)
        return self.writes.without_deleted(deployment.key, claimed)

    async def _scale_only(
        self, deployment: KubeObject, new: KubeObject | None, old: list[KubeObject]
    ) -> Result | None:
        steps = proportional(rollout_limits(deployment), new, old)
        await self._writer.scale(deployment, steps)
        if not steps:
            # The sizes are right but were computed for other replicas.
            await self._writer.annotate_sizes(deployment, [*old, *([new] if new else [])])
        if deployment.spec.paused:
            await self._drop_history(deployment, old)
        return await self._finish(deployment, new, old, rolling=False)

    async def _roll(
        self, deployment: KubeObject, new: KubeObject | None, old: list[KubeObject]
    ) -> Result | None:
        recreate = is_recreate(deployment)
        if recreate and await self._scale_down_old(deployment, old):
            return await self._finish(deployment, new, old, rolling=True)
        extra: list[Condition] = []
        if new is None:
            new = await self._writer.create(deployment, old, recreate=recreate)
            message = f'Created new replica set "{new.name}"'
            extra.append(progress("True", "NewReplicaSetCreated", message, self.clock.now()))
        else:
            renewed = await self._writer.sync_metadata(deployment, new, old)
            if renewed is None and self._lacks_progress(deployment):
                message = f'Found new replica set "{new.name}"'
                extra.append(progress("True", "FoundNewReplicaSet", message, self.clock.now()))
            steps = [] if renewed is not None else self._steps(deployment, new, old)
            await self._writer.scale(deployment, steps)
            new = renewed or new
        return await self._finish(deployment, new, old, extra, rolling=True)

    def _steps(
        self, deployment: KubeObject, new: KubeObject, old: list[KubeObject]
    ) -> list[ReplicaSetScaling]:
        limits = rollout_limits(deployment)
        up = scale_up(limits, new, old)
        return up if up or is_recreate(deployment) else scale_down(limits, new, old)

    async def _scale_down_old(self, deployment: KubeObject, old: list[KubeObject]) -> bool:
        """Recreate: no new pod while an old one may run. True while there is something to wait
        for."""
        steps = all_to_zero(old)
        await self._writer.scale(deployment, steps)
        return bool(steps) or any(
            not is_finished(pod)
            for one in old
            for pod in self.pods.indexer.by_index(CONTROLLER_INDEX, one.uid)
        )

    def _lacks_progress(self, deployment: KubeObject) -> bool:
        return has_deadline(deployment) and conditions.find(deployment, "Progressing") is None

    async def _drop_history(self, deployment: KubeObject, old: Sequence[KubeObject]) -> None:
        for one in beyond_history(deployment, old):
            await self._writer.delete(deployment, one)

    async def _finish(
        self,
        deployment: KubeObject,
        new: KubeObject | None,
        old: list[KubeObject],
        extra: Sequence[Condition] = (),
        *,
        rolling: bool,
    ) -> Result | None:
        now = self.clock.now()
        found = [*extra, *self._pause_condition(deployment, now)]
        status = status_of(deployment, new, old, found, now, rolling=rolling)
        content = deployment.to_dict()
        revision = new.annotations.get(REVISION) if new is not None else None
        if revision and deployment.annotations.get(REVISION) != revision:
            content["metadata"].setdefault("annotations", {})[REVISION] = revision
        if rolling and is_complete(deployment, status):
            await self._drop_history(deployment, old)
        if content["metadata"] != deployment.metadata or deployment.status != status:
            await self.api(deployment.namespace).replace_status({**content, "status": status})
        return Result(until_deadline_s(deployment, status, now))

    def _pause_condition(self, deployment: KubeObject, now: float) -> list[Condition]:
        """Time spent paused does not count against the deadline."""
        if not has_deadline(deployment):
            return []
        present = conditions.find(deployment, "Progressing")
        reason = present.get("reason") if present is not None else ""
        if deployment.spec.paused and reason not in (
            "DeploymentPaused",
            "ProgressDeadlineExceeded",
        ):
            return [progress("Unknown", "DeploymentPaused", "Deployment is paused", now)]
        if not deployment.spec.paused and reason == "DeploymentPaused":
            return [progress("Unknown", "DeploymentResumed", "Deployment is resumed", now)]
        return []
