"""The binder: a claim and a volume that suits it name each other.

Receives: keys of claims, from their events, those of volumes and of storage classes.
Hands on: bound claims and volumes, and to provisioners the claims that need a new volume.
A volume is written first, at the version that was looked at: of two claims that want it one fails,
and looks for another. One worker, as two would often want the same volume.
"""

from __future__ import annotations

from typing import assert_never

from proreus.api.object import KubeObject
from proreus.api.status import Conflict
from proreus.client.controller import Controller, Result, Watch
from proreus.cluster.controllers.context import ControllerContext
from proreus.cluster.controllers.reconciler import ObjectReconciler
from proreus.cluster.controllers.volumes.claim_decisions import (
    LOST,
    PENDING,
    Await,
    BindClaim,
    ClaimStep,
    ClaimSurroundings,
    Lose,
    Provision,
    TakeClass,
    claim_step,
    external_provisioning,
)
from proreus.cluster.controllers.volumes.informers import claims_informer, volumes_informer
from proreus.cluster.pod_status import is_finished
from proreus.cluster.volumes import storage_annotations as annotated
from proreus.cluster.volumes.bound_objects import (
    bound_claim,
    bound_claim_status,
    bound_volume,
    claim_status,
)
from proreus.cluster.volumes.indexes import INDEX, of_claim, of_class, of_volume
from proreus.cluster.volumes.pod_claims import claims_of
from proreus.cluster.volumes.views import StorageClass, Volume, VolumeClaim, default_class

COMPONENT = "persistentvolume-controller"
_TAKEN_AGAIN_S = 0.5  # a volume that another claim got first


def volume_binder_controller(context: ControllerContext) -> Controller:
    binder = ClaimBinder(context)
    watches = [
        Watch(binder.volumes, binder.claims_of_volume),
        Watch(binder.classes, binder.claims_of_class),
    ]
    return binder.controller("persistentvolume-binder", watches=watches, concurrency=1)


class ClaimBinder(ObjectReconciler):
    def __init__(self, context: ControllerContext) -> None:
        super().__init__(context, "persistentvolumeclaims", COMPONENT)
        self.informer = claims_informer(context)
        self.volumes = volumes_informer(context)
        self.classes = context.informers.informer("storageclasses.storage.k8s.io")
        self.pods = context.owned_informer("pods")

    def claims_of_volume(self, volume: KubeObject) -> list[str]:
        """The claim that it names, those that name it, and if it is free those it may suit."""
        reference, find = (volume.spec or {}).get("claimRef"), self.informer.indexer.keys_by_index
        found = find(INDEX, of_volume(volume.name))
        if reference:
            return [*found, f"{reference.get('namespace')}/{reference.get('name')}"]
        return [*found, *find(INDEX, of_class(Volume.read(volume).class_name))]

    def claims_of_class(self, storage_class: KubeObject) -> list[str]:
        """Those that wait for it, or for any."""
        find = self.informer.indexer.keys_by_index
        found = find(INDEX, of_class(storage_class.name))
        is_default = StorageClass.read(storage_class).is_default
        return [*found, *find(INDEX, of_class(None))] if is_default else found

    async def sync(self, obj: KubeObject) -> Result | None:
        claim = VolumeClaim.read(obj)
        try:
            await self._take(obj, claim, claim_step(claim, self._surroundings(claim)))
        except Conflict:
            return Result(_TAKEN_AGAIN_S)
        return None

    async def _take(self, obj: KubeObject, claim: VolumeClaim, step: ClaimStep) -> None:
        match step:
            case BindClaim(name):
                await self._bind(obj, name)
            case Await(reason, message, is_warning):
                if reason:
                    (self.warn if is_warning else self.record)(obj, reason, message)
                await self.write_status(obj, claim_status(obj, PENDING))
            case Provision(provisioner):
                await self._ask(obj, provisioner)
            case Lose(reason, message):
                if claim.phase != LOST:
                    self.warn(obj, reason, message)
                await self.write_status(obj, claim_status(obj, LOST))
            case TakeClass(name):
                content = obj.to_dict()
                content["spec"]["storageClassName"] = name
                await self.api.in_namespace_of(obj).replace(content)
            case unknown:
                assert_never(unknown)

    async def _bind(self, obj: KubeObject, name: str) -> None:
        volume = self.volumes.indexer.get(name)
        if volume is None:
            return  # its deletion brings the claim back
        volumes = self.client.core_v1.persistentvolumes
        if (content := bound_volume(volume, obj)) is not None:
            volume = await volumes.replace(content)
        if (volume.status or {}).get("phase") != "Bound":
            volume = await volumes.replace_status(
                {**volume.to_dict(), "status": {"phase": "Bound"}}
            )
        if (content := bound_claim(obj, name)) is not None:
            obj = await self.api.in_namespace_of(obj).replace(content)
        await self.write_status(obj, bound_claim_status(obj, volume))

    async def _ask(self, obj: KubeObject, provisioner: str) -> None:
        """By an annotation, which provisioners look for."""
        if obj.annotations.get(annotated.STORAGE_PROVISIONER) != provisioner:
            content = obj.to_dict()
            content["metadata"].setdefault("annotations", {}).update(
                {
                    annotated.STORAGE_PROVISIONER: provisioner,
                    annotated.BETA_STORAGE_PROVISIONER: provisioner,
                }
            )
            obj = await self.api.in_namespace_of(obj).replace(content)
        self.record(obj, "ExternalProvisioning", external_provisioning(provisioner))

    def _surroundings(self, claim: VolumeClaim) -> ClaimSurroundings:
        volumes, classes = self.volumes.indexer, self.classes.indexer
        named = volumes.get(claim.volume_name) if claim.volume_name else None
        found = classes.get(claim.class_name) if claim.class_name else None
        candidates = [
            *volumes.by_index(INDEX, of_claim(claim.key)),
            *volumes.by_index(INDEX, of_class(claim.class_name)),
        ]
        default = default_class(StorageClass.read(one) for one in classes.objects())
        return ClaimSurroundings(
            volume=Volume.read(named) if named is not None else None,
            candidates=[] if claim.volume_name else [Volume.read(one) for one in candidates],
            storage_class=StorageClass.read(found) if found is not None else None,
            default_class=default.name if default is not None else "",
            waiting_pods=lambda: self._waiting_pods(claim),
        )

    def _waiting_pods(self, claim: VolumeClaim) -> list[str]:
        return sorted(
            pod.name
            for pod in self.pods.lister.list(namespace=claim.namespace)
            if claim.key in claims_of(pod) and not pod.spec.nodeName and not is_finished(pod)
        )
