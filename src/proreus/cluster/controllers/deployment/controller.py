"""The Deployment controller: looks at a Deployment and its ReplicaSets and takes one step.

Receives: keys of Deployments, from their events and those of their ReplicaSets; of pods only
deletions, for which Recreate waits.  Hands on: ReplicaSets.
Every step ends with the status; the events of what it wrote bring the next one.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from proreus.api.object import KubeObject
from proreus.api.selectors.labels import LabelSelector
from proreus.client.controller import Controller, Result, Watch, owner_keys
from proreus.client.informer import Change
from proreus.cluster.controllers import conditions
from proreus.cluster.controllers.conditions import Condition
from proreus.cluster.controllers.deployment.replica_sets import (
    REVISION,
    beyond_history,
    by_age,
    fences,
    is_recreate,
    is_scaling_event,
    new_one,
)
from proreus.cluster.controllers.deployment.rolling import (
    Scaling,
    all_to_zero,
    proportional,
    scale_down,
    scale_up,
)
from proreus.cluster.controllers.deployment.status import (
    deadline_in_s,
    has_deadline,
    is_complete,
    progress,
    status_of,
)
from proreus.cluster.controllers.deployment.writing import ReplicaSetWriter
from proreus.cluster.controllers.own_writes import OwnWrites, reconciling
from proreus.cluster.controllers.ownership import (
    CONTROLLER_INDEX,
    Claiming,
    candidates,
    claim,
    controller_of,
    is_deleting,
)
from proreus.cluster.controllers.pod_template import is_finished
from proreus.cluster.controllers.setting import Setting

WORKERS = 10
MAX_RETRIES = 15


def deployment_controller(setting: Setting) -> Controller:
    sync = Deployments(setting)
    return Controller(
        reconciling(sync.informer, sync.writes, sync.sync),
        sync.informer,
        owns=[sync.replica_sets],
        watches=[
            Watch(sync.replica_sets, sync.keys_of_orphan),
            Watch(sync.pods, sync.keys_of_pod, when=lambda told: told.change is Change.DELETE),
        ],
        name="deployment",
        concurrency=WORKERS,
        max_retries=MAX_RETRIES,
    )


class Deployments:
    """Brings one Deployment at a time a step further."""

    def __init__(self, setting: Setting) -> None:
        self._client = setting.client
        self._clock = setting.clock
        self._recorder = setting.recorder("deployment-controller")
        self.informer = setting.informers.informer("deployments.apps")
        self.replica_sets = setting.owned("replicasets.apps")
        self.pods = setting.owned("pods")
        self.writes = OwnWrites()
        self._writer = ReplicaSetWriter(
            setting.client, self._recorder, self.writes, self.replica_sets, self.informer
        )
        self._owners_of_replica_sets = owner_keys(self.informer)

    # Which Deployments a change concerns.

    def keys_of_orphan(self, replica_set: KubeObject) -> list[str]:
        if controller_of(replica_set) is not None or not replica_set.labels:
            return []
        return [
            deployment.key
            for deployment in self.informer.lister.list(namespace=replica_set.namespace)
            if LabelSelector.from_object(deployment.spec.selector).matches(replica_set.labels)
        ]

    def keys_of_pod(self, pod: KubeObject) -> list[str]:
        reference = controller_of(pod)
        if reference is None:
            return []
        replica_set = self.replica_sets.indexer.get(f"{pod.namespace}/{reference['name']}")
        if replica_set is None or replica_set.uid != reference["uid"]:
            return []
        keys = self._owners_of_replica_sets(replica_set)
        found = [self.informer.indexer.get(key) for key in keys]
        return [one.key for one in found if one is not None and is_recreate(one)]

    # One step.

    async def sync(self, deployment: KubeObject) -> Result | None:
        selector = LabelSelector.from_object(deployment.spec.selector)
        if selector.is_empty:
            message = "This deployment is selecting all pods. A non-empty selector is required."
            self._recorder.event(deployment, "Warning", "SelectingAll", message)
            return None
        every = by_age(await self._claim(deployment, selector))
        new = new_one(deployment, every)
        old = [one for one in every if one is not new]
        if is_deleting(deployment):
            return await self._write_status(deployment, new, old, rolling=False)
        if deployment.spec.paused or is_scaling_event(deployment, every):
            return await self._scale_only(deployment, new, old)
        return await self._roll(deployment, new, old)

    async def _claim(self, deployment: KubeObject, selector: LabelSelector) -> list[KubeObject]:
        key = deployment.key
        claiming = Claiming(
            self._client.apps_v1.deployments,
            self._client.apps_v1.replicasets,
            partial(self.writes.wrote, key, self.replica_sets),
        )
        found = candidates(self.replica_sets, deployment)
        mine = await claiming.carry_out(deployment, claim(deployment, found, selector))
        return self.writes.remaining(key, mine)

    async def _scale_only(
        self, deployment: KubeObject, new: KubeObject | None, old: list[KubeObject]
    ) -> Result | None:
        steps = proportional(fences(deployment), new, old)
        await self._writer.scale(deployment, steps)
        if not steps:
            # The numbers are right but were written for another wish.
            await self._writer.note_sizes(deployment, [*old, *([new] if new else [])])
        if deployment.spec.paused:
            await self._drop_history(deployment, old)
        return await self._write_status(deployment, new, old, rolling=False)

    async def _roll(
        self, deployment: KubeObject, new: KubeObject | None, old: list[KubeObject]
    ) -> Result | None:
        recreate = is_recreate(deployment)
        if recreate and await self._make_way(deployment, old):
            return await self._write_status(deployment, new, old, rolling=True)
        extra: list[Condition] = []
        if new is None:
            new = await self._writer.create(deployment, old, recreate=recreate)
            message = f'Created new replica set "{new.name}"'
            extra.append(progress("True", "NewReplicaSetCreated", message, self._clock.now()))
        else:
            renewed = await self._writer.bring_up_to_date(deployment, new, old)
            if renewed is None and self._lacks_progress(deployment):
                message = f'Found new replica set "{new.name}"'
                extra.append(progress("True", "FoundNewReplicaSet", message, self._clock.now()))
            steps = [] if renewed is not None else self._steps(deployment, new, old)
            await self._writer.scale(deployment, steps)
            new = renewed or new
        return await self._write_status(deployment, new, old, extra, rolling=True)

    def _steps(
        self, deployment: KubeObject, new: KubeObject, old: list[KubeObject]
    ) -> list[Scaling]:
        fence = fences(deployment)
        up = scale_up(fence, new, old)
        return up if up or is_recreate(deployment) else scale_down(fence, new, old)

    async def _make_way(self, deployment: KubeObject, old: list[KubeObject]) -> bool:
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
        found = (deployment.status or {}).get("conditions")
        return has_deadline(deployment) and conditions.find(found, "Progressing") is None

    async def _drop_history(self, deployment: KubeObject, old: Sequence[KubeObject]) -> None:
        for one in beyond_history(deployment, old):
            await self._writer.delete(deployment, one)

    async def _write_status(
        self,
        deployment: KubeObject,
        new: KubeObject | None,
        old: list[KubeObject],
        extra: Sequence[Condition] = (),
        *,
        rolling: bool,
    ) -> Result | None:
        now = self._clock.now()
        found = [*extra, *self._pause_condition(deployment, now)]
        status = status_of(deployment, new, old, found, now, rolling=rolling)
        content = deployment.to_dict()
        revision = new.annotations.get(REVISION) if new is not None else None
        if revision and deployment.annotations.get(REVISION) != revision:
            content["metadata"].setdefault("annotations", {})[REVISION] = revision
        if rolling and is_complete(deployment, status):
            await self._drop_history(deployment, old)
        if content["metadata"] != deployment.metadata or deployment.status != status:
            api = self._client.apps_v1.deployments(deployment.namespace)
            written = await api.replace_status({**content, "status": status})
            self.writes.wrote(deployment.key, self.informer, written)
        return Result(deadline_in_s(deployment, status, now))

    def _pause_condition(self, deployment: KubeObject, now: float) -> list[Condition]:
        """Time spent paused does not count against the deadline."""
        if not has_deadline(deployment):
            return []
        present = conditions.find((deployment.status or {}).get("conditions"), "Progressing")
        reason = present.get("reason") if present is not None else ""
        if deployment.spec.paused and reason not in (
            "DeploymentPaused",
            "ProgressDeadlineExceeded",
        ):
            return [progress("Unknown", "DeploymentPaused", "Deployment is paused", now)]
        if not deployment.spec.paused and reason == "DeploymentPaused":
            return [progress("Unknown", "DeploymentResumed", "Deployment is resumed", now)]
        return []
