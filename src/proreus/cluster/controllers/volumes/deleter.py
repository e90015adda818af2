"""What becomes of local volumes that are released: with the policy Delete their folder goes first,
then the object, so that a folder that cannot be removed is known.

Receives: keys of volumes.  Hands on: deletions, and volumes without our finalizer.
"""

from __future__ import annotations

import asyncio
from contextlib import suppress
from pathlib import Path

from proreus.api.object import KubeObject
from proreus.api.status import NotFound
from proreus.client.controller import Controller, Result
from proreus.cluster.controllers.context import ControllerContext
from proreus.cluster.controllers.reconciler import ObjectReconciler
from proreus.cluster.controllers.volumes.informers import volumes_informer
from proreus.cluster.controllers.volumes.local_path import is_ours, removable_folder
from proreus.cluster.pod_status import is_deleting
from proreus.cluster.untrusted_files import remove_tree
from proreus.cluster.volumes.standard_class import PROVISIONER
from proreus.cluster.volumes.storage_annotations import PROVISIONER_FINALIZER
from proreus.cluster.volumes.views import Volume

_FAILED_AGAIN_S = 60.0


def volume_deleter_controller(context: ControllerContext) -> Controller:
    return ReleasedVolumes(context).controller("volume-deleter", concurrency=1)


def is_to_be_deleted(volume: Volume) -> bool:
    return volume.reclaim_policy == "Delete" and volume.phase in ("Released", "Failed")


class ReleasedVolumes(ObjectReconciler):
    def __init__(self, context: ControllerContext) -> None:
        super().__init__(context, "persistentvolumes", PROVISIONER)
        self.informer = volumes_informer(context)
        self.folder = context.settings.volumes_folder

    async def sync(self, obj: KubeObject) -> Result | None:
        volume = Volume.read(obj)
        if self.folder is None or not is_ours(obj):
            return None
        if is_to_be_deleted(volume):
            return await self._delete(obj, self.folder)
        if is_deleting(obj) and volume.phase != "Bound":
            await self._let_go(obj)
        return None

    async def _delete(self, obj: KubeObject, folder: Path) -> Result | None:
        found = removable_folder(obj, folder)
        if found is not None:
            await asyncio.to_thread(remove_tree, found)  # it may be much
            if found.exists():
                self.warn(obj, "VolumeFailedDelete", f"the folder {found} cannot be removed")
                return Result(_FAILED_AGAIN_S)
        if is_deleting(obj):
            await self._let_go(obj)
            return None
        with suppress(NotFound):
            await self.api.delete(obj.name, uid=obj.uid)  # its event brings it back, to be let go
        return None

    async def _let_go(self, obj: KubeObject) -> None:
        present = obj.metadata.finalizers or ()
        if PROVISIONER_FINALIZER not in present:
            return
        content = obj.to_dict()
        content["metadata"]["finalizers"] = [one for one in present if one != PROVISIONER_FINALIZER]
        await self.api.replace(content)
