"""Phases of volumes, which follow the claims that they name.

Receives: keys of volumes, from their events and those of claims.  Hands on: their status.
Invariant: a volume is called released only after a live read confirmed that its claim is gone: what
follows may be the end of its data.
"""

from __future__ import annotations

from typing import assert_never

from proreus.api.json_types import JsonObject
from proreus.api.object import KubeObject
from proreus.api.status import NotFound
from proreus.client.controller import Controller, Result, Watch
from proreus.cluster.controllers.context import ControllerContext
from proreus.cluster.controllers.reconciler import ObjectReconciler
from proreus.cluster.controllers.volumes.binder import COMPONENT
from proreus.cluster.controllers.volumes.informers import claims_informer, volumes_informer
from proreus.cluster.controllers.volumes.volume_decisions import (
    FAILED,
    RELEASED,
    FailVolume,
    LeaveToBinder,
    SetPhase,
    Unbind,
    volume_step,
)
from proreus.cluster.volumes.bound_objects import unbound_volume
from proreus.cluster.volumes.indexes import INDEX, of_claim
from proreus.cluster.volumes.views import Volume, VolumeClaim


def volume_phases_controller(context: ControllerContext) -> Controller:
    volumes = VolumePhases(context)
    watches = [Watch(volumes.claims, volumes.volumes_of_claim)]
    return volumes.controller("persistentvolume-phases", watches=watches, concurrency=1)


class VolumePhases(ObjectReconciler):
    def __init__(self, context: ControllerContext) -> None:
        super().__init__(context, "persistentvolumes", COMPONENT)
        self.informer = volumes_informer(context)
        self.claims = claims_informer(context)

    def volumes_of_claim(self, claim: KubeObject) -> list[str]:
        return self.informer.indexer.keys_by_index(INDEX, of_claim(claim.key))

    async def sync(self, obj: KubeObject) -> Result | None:
        volume = Volume.read(obj)
        found = self.claims.indexer.get(volume.claim.key) if volume.claim is not None else None
        step = volume_step(volume, VolumeClaim.read(found) if found is not None else None)
        match step:
            case SetPhase(phase):
                if phase == RELEASED != volume.phase and await self._is_claimed(volume):
                    return None  # the claim's event, which comes still, brings the volume back
                await self._set_phase(obj, phase)
            case FailVolume(reason, message):
                if volume.phase != FAILED:
                    self.warn(obj, reason, message)
                await self._set_phase(obj, FAILED, message)
            case Unbind():
                await self.api.replace(unbound_volume(obj))
            case LeaveToBinder():
                pass
            case unknown:
                assert_never(unknown)
        return None

    async def _is_claimed(self, volume: Volume) -> bool:
        """Whether its claim is there, as the server knows it, and has not got another volume."""
        if volume.claim is None:
            return False
        claims = self.client.core_v1.persistentvolumeclaims(volume.claim.namespace)
        try:
            claim = VolumeClaim.read(await claims.get(volume.claim.name))
        except NotFound:
            return False
        return claim.uid == volume.claim.uid and claim.volume_name in ("", volume.name)

    async def _set_phase(self, obj: KubeObject, phase: str, message: str = "") -> None:
        before: JsonObject = obj.to_dict().get("status") or {}
        if before.get("phase") == phase and (before.get("message") or "") == message:
            return
        if before.get("phase") == FAILED and phase != FAILED:
            before.pop("message", None)
        status = {**before, "phase": phase, **({"message": message} if message else {})}
        await self.write_status(obj, status)
