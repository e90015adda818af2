"""What the Deployment controller writes to ReplicaSets."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from proreus.api.object import KubeObject
from proreus.api.status import AlreadyExists, ApiError, NotFound
from proreus.client.informer import SharedInformer
from proreus.client.resources.resource_client import ResourceClient
from proreus.cluster.controllers.deployment.replica_sets import (
    annotations_for,
    find_new,
    new_replica_set,
    rollout_limits,
    size_annotations,
)
from proreus.cluster.controllers.deployment.rolling import ReplicaSetScaling, initial_size
from proreus.cluster.controllers.ownership import is_namespace_terminating
from proreus.cluster.controllers.pod_template import content_hash, desired_replicas
from proreus.cluster.controllers.reconciler import ObjectReconciler


class NameTaken(Exception):
    """The name that the template's hash gives belongs to something else; the next try has another
    hash."""


@dataclass(frozen=True, slots=True)
class ReplicaSetWriter:
    deployments: ObjectReconciler
    replica_sets: SharedInformer

    def _api(self, deployment: KubeObject) -> ResourceClient:
        return self.deployments.client.apps_v1.replicasets(deployment.namespace)

    async def create(
        self, deployment: KubeObject, old: Sequence[KubeObject], *, recreate: bool
    ) -> KubeObject:
        """The ReplicaSet of the present template, as large as the rollout may begin with."""
        collisions = (deployment.status or {}).get("collisionCount")
        replicas = initial_size(rollout_limits(deployment), old, recreate=recreate)
        annotations = {**annotations_for(deployment, old, {}), **size_annotations(deployment)}
        template_hash = content_hash(deployment.spec.template, collisions)
        body = new_replica_set(deployment, template_hash, replicas, annotations)
        try:
            created = await self._api(deployment).create(body)
        except AlreadyExists:
            return await self._take_existing(deployment, body["metadata"]["name"])
        except ApiError as refused:
            if not is_namespace_terminating(refused):
                message = f'Failed to create new replica set "{body["metadata"]["name"]}": '
                message += refused.message
                self.deployments.warn(deployment, "ReplicaSetCreateError", message)
            raise
        if replicas:
            message = f"Scaled up replica set {created.name} from 0 to {replicas}"
            self.deployments.record(deployment, "ScalingReplicaSet", message)
        return created

    async def _take_existing(self, deployment: KubeObject, name: str) -> KubeObject:
        """Ours from an earlier try, or a collision to be counted."""
        found = await self._api(deployment).get(name)
        if found.controller_uid == deployment.uid and find_new(deployment, [found]) is not None:
            return found
        status = dict(deployment.to_dict().get("status") or {})
        status["collisionCount"] = int(status.get("collisionCount") or 0) + 1
        await self.deployments.write_status(deployment, status)
        raise NameTaken(f"ReplicaSet {name} exists and is not of {deployment!r}")

    async def sync_metadata(
        self, deployment: KubeObject, new: KubeObject, old: Sequence[KubeObject]
    ) -> KubeObject | None:
        """Write revision, annotations and minReadySeconds; None if they were right."""
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
        return await self._api(deployment).replace(content)

    async def scale(self, deployment: KubeObject, steps: Iterable[ReplicaSetScaling]) -> None:
        for step in steps:
            before = desired_replicas(step.replica_set)
            content = step.replica_set.to_dict()
            content["spec"]["replicas"] = step.to
            annotations = content["metadata"].get("annotations") or {}
            content["metadata"]["annotations"] = {**annotations, **size_annotations(deployment)}
            await self._api(deployment).replace(content)
            direction = "up" if step.to > before else "down"
            message = (
                f"Scaled {direction} replica set {step.replica_set.name} from {before} to {step.to}"
            )
            self.deployments.record(deployment, "ScalingReplicaSet", message)

    async def annotate_sizes(
        self, deployment: KubeObject, replica_sets: Iterable[KubeObject]
    ) -> None:
        """Annotate ReplicaSets with the replicas that their sizes were computed for."""
        noted = size_annotations(deployment)
        for one in replica_sets:
            if desired_replicas(one) and any(one.annotations.get(k) != v for k, v in noted.items()):
                content = one.to_dict()
                content["metadata"]["annotations"] = {**one.annotations, **noted}
                await self._api(deployment).replace(content)

    async def delete(self, deployment: KubeObject, replica_set: KubeObject) -> None:
        with contextlib.suppress(NotFound):
            await self._api(deployment).delete(replica_set.name, uid=replica_set.uid)
