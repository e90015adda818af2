"""What the Deployment controller writes to ReplicaSets; every write is remembered in OwnWrites."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from proreus.api.object import KubeObject
from proreus.api.status import AlreadyExists, ApiError, NotFound
from proreus.client.client import Client
from proreus.client.event_recorder import EventRecorder
from proreus.client.informer import SharedInformer
from proreus.cluster.controllers.deployment.replica_sets import (
    annotations_for,
    fences,
    made_for,
    new_one,
    size,
    size_annotations,
)
from proreus.cluster.controllers.deployment.rolling import Scaling, first_size
from proreus.cluster.controllers.own_writes import OwnWrites
from proreus.cluster.controllers.ownership import controller_uid, is_namespace_terminating
from proreus.cluster.controllers.pod_template import content_hash


class NameTaken(Exception):
    """The name that the template's hash gives belongs to something else; the next try has another
    hash."""


@dataclass(frozen=True, slots=True)
class ReplicaSetWriter:
    client: Client
    recorder: EventRecorder
    writes: OwnWrites
    replica_sets: SharedInformer
    deployments: SharedInformer

    async def create(
        self, deployment: KubeObject, old: Sequence[KubeObject], *, recreate: bool
    ) -> KubeObject:
        """The ReplicaSet of the present template, as large as the rollout may begin with."""
        collisions = (deployment.status or {}).get("collisionCount")
        replicas = first_size(fences(deployment), old, recreate=recreate)
        annotations = {**annotations_for(deployment, old, {}), **size_annotations(deployment)}
        template_hash = content_hash(deployment.spec.template, collisions)
        body = made_for(deployment, template_hash, replicas, annotations)
        api = self.client.apps_v1.replicasets(deployment.namespace)
        try:
            created = await api.create(body)
        except AlreadyExists:
            return await self._take_existing(deployment, body["metadata"]["name"])
        except ApiError as refused:
            if not is_namespace_terminating(refused):
                message = f'Failed to create new replica set "{body["metadata"]["name"]}": '
                self.recorder.event(
                    deployment, "Warning", "ReplicaSetCreateError", message + refused.message
                )
            raise
        self.writes.wrote(deployment.key, self.replica_sets, created)
        if replicas:
            message = f"Scaled up replica set {created.name} from 0 to {replicas}"
            self.recorder.event(deployment, "Normal", "ScalingReplicaSet", message)
        return created

    async def _take_existing(self, deployment: KubeObject, name: str) -> KubeObject:
        """Ours from an earlier try, or a collision to be counted."""
        found = await self.client.apps_v1.replicasets(deployment.namespace).get(name)
        if controller_uid(found) == deployment.uid and new_one(deployment, [found]) is not None:
            self.writes.wrote(deployment.key, self.replica_sets, found)
            return found
        status = dict(deployment.to_dict().get("status") or {})
        status["collisionCount"] = int(status.get("collisionCount") or 0) + 1
        api = self.client.apps_v1.deployments(deployment.namespace)
        written = await api.replace_status({**deployment.to_dict(), "status": status})
        self.writes.wrote(deployment.key, self.deployments, written)
        raise NameTaken(f"ReplicaSet {name} exists and is not of {deployment!r}")

    async def bring_up_to_date(
        self, deployment: KubeObject, new: KubeObject, old: Sequence[KubeObject]
    ) -> KubeObject | None:
        """Revision, annotations and minReadySeconds of the new ReplicaSet; None if they were."""
        wanted = {
            **annotations_for(deployment, old, new.annotations),
            **size_annotations(deployment),
        }
        min_ready_s = deployment.spec.minReadySeconds or 0
        if wanted == dict(new.annotations) and (new.spec.minReadySeconds or 0) == min_ready_s:
            return None
        content = new.to_dict()
        content["metadata"]["annotations"] = wanted
        content["spec"]["minReadySeconds"] = min_ready_s
        return await self._replace(deployment, content)

    async def scale(self, deployment: KubeObject, steps: Iterable[Scaling]) -> None:
        for step in steps:
            before = size(step.replica_set)
            content = step.replica_set.to_dict()
            content["spec"]["replicas"] = step.to
            annotations = content["metadata"].get("annotations") or {}
            content["metadata"]["annotations"] = {**annotations, **size_annotations(deployment)}
            await self._replace(deployment, content)
            direction = "up" if step.to > before else "down"
            message = (
                f"Scaled {direction} replica set {step.replica_set.name} from {before} to {step.to}"
            )
            self.recorder.event(deployment, "Normal", "ScalingReplicaSet", message)

    async def note_sizes(self, deployment: KubeObject, replica_sets: Iterable[KubeObject]) -> None:
        """Write down for which wish the sizes are, where it says another."""
        noted = size_annotations(deployment)
        for one in replica_sets:
            if size(one) and any(one.annotations.get(k) != v for k, v in noted.items()):
                content = one.to_dict()
                content["metadata"]["annotations"] = {**one.annotations, **noted}
                await self._replace(deployment, content)

    async def delete(self, deployment: KubeObject, replica_set: KubeObject) -> None:
        api = self.client.apps_v1.replicasets(replica_set.namespace)
        with contextlib.suppress(NotFound):
            await api.delete(replica_set.name, uid=replica_set.uid)
        self.writes.deleted(deployment.key, replica_set)

    async def _replace(self, deployment: KubeObject, content: dict[str, object]) -> KubeObject:
        api = self.client.apps_v1.replicasets(deployment.namespace)
        written = await api.replace(content)
        self.writes.wrote(deployment.key, self.replica_sets, written)
        return written
