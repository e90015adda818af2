"""The provisioner of local volumes: a claim that asks for one gets a folder of this machine.

Receives: keys of claims.  Hands on: volumes, which the binder binds; their folders are made by the
kubelet that mounts them. A claim that asks for more gets more: a folder has no size of its own.
"""

from __future__ import annotations

from proreus.api.object import KubeObject
from proreus.api.status import AlreadyExists, ApiError
from proreus.api.values import quantity
from proreus.client.controller import Controller, Result, Watch
from proreus.cluster.controllers.context import ControllerContext
from proreus.cluster.controllers.reconciler import ObjectReconciler
from proreus.cluster.controllers.volumes.informers import claims_informer, volumes_informer
from proreus.cluster.controllers.volumes.local_path import (
    HOST_NAME,
    is_ours,
    volume_for,
    volume_name,
)
from proreus.cluster.pod_status import is_deleting
from proreus.cluster.volumes import storage_annotations as annotated
from proreus.cluster.volumes.indexes import INDEX, of_volume
from proreus.cluster.volumes.standard_class import PROVISIONER
from proreus.cluster.volumes.views import StorageClass, VolumeClaim


def volume_provisioner_controller(context: ControllerContext) -> Controller:
    claims = ProvisionedClaims(context)
    watches = [Watch(claims.volumes, claims.claims_of_volume)]
    return claims.controller("volume-provisioner", watches=watches, concurrency=1)


class ProvisionedClaims(ObjectReconciler):
    def __init__(self, context: ControllerContext) -> None:
        super().__init__(context, "persistentvolumeclaims", PROVISIONER)
        self.informer = claims_informer(context)
        self.volumes = volumes_informer(context)
        self.classes = context.informers.informer("storageclasses.storage.k8s.io")
        self.nodes = context.informers.informer("nodes")
        self.folder = context.settings.volumes_folder

    def claims_of_volume(self, volume: KubeObject) -> list[str]:
        if not is_ours(volume):
            return []
        return self.informer.indexer.keys_by_index(INDEX, of_volume(volume.name))

    async def sync(self, obj: KubeObject) -> Result | None:
        claim = VolumeClaim.read(obj)
        if self.folder is None or is_deleting(obj):
            return None
        if claim.volume_name:
            await self._expand(obj, claim)
        elif obj.annotations.get(annotated.STORAGE_PROVISIONER) == PROVISIONER:
            await self._provision(obj, claim)
        return None

    async def _provision(self, obj: KubeObject, claim: VolumeClaim) -> None:
        found = self.classes.indexer.get(claim.class_name or "")
        if self.folder is None or found is None or volume_name(obj) in self.volumes.indexer:
            return
        storage_class = StorageClass.read(found)
        if storage_class.provisioner != PROVISIONER:
            return
        if storage_class.is_delayed and not claim.selected_node:
            return  # no pod is to use it yet
        node = self.nodes.indexer.get(claim.selected_node) if claim.selected_node else None
        if claim.selected_node and node is None:
            await self._deselect(obj)
            return
        if claim.volume_mode != "Filesystem":
            said = f'failed to provision volume with StorageClass "{found.name}"'
            text = f"{said}: {PROVISIONER} makes folders, not block devices"
            self.warn(obj, "ProvisioningFailed", text)
            return
        text = f'External provisioner is provisioning volume for claim "{claim.key}"'
        self.record(obj, "Provisioning", text)
        host_name = node.labels.get(HOST_NAME, node.name) if node is not None else ""
        try:
            await self.client.core_v1.persistentvolumes.create(
                volume_for(obj, found, self.folder, host_name)
            )
        except AlreadyExists:
            return
        except ApiError as refused:
            said = f'failed to provision volume with StorageClass "{found.name}"'
            self.warn(obj, "ProvisioningFailed", f"{said}: {refused.message}")
            raise
        text = f"Successfully provisioned volume {volume_name(obj)}"
        self.record(obj, "ProvisioningSucceeded", text)

    async def _deselect(self, obj: KubeObject) -> None:
        """The node is gone: let the scheduler choose another."""
        content = obj.to_dict()
        del content["metadata"]["annotations"][annotated.SELECTED_NODE]
        await self.api.in_namespace_of(obj).replace(content)

    async def _expand(self, obj: KubeObject, claim: VolumeClaim) -> None:
        volume = self.volumes.indexer.get(claim.volume_name)
        has = ((obj.status or {}).get("capacity") or {}).get("storage")
        if volume is None or not is_ours(volume) or has is None or not claim.is_bound:
            return
        if quantity.amount(has) >= claim.request:
            return
        text = f"External resizer is resizing volume {volume.name}"
        self.record(obj, "Resizing", text)
        capacity = {"storage": obj.to_dict()["spec"]["resources"]["requests"]["storage"]}
        content = volume.to_dict()
        content["spec"]["capacity"] = capacity
        await self.client.core_v1.persistentvolumes.replace(content)
        await self.write_status(obj, {**obj.to_dict()["status"], "capacity": capacity})
        self.record(obj, "VolumeResizeSuccessful", "Resize volume succeeded")
