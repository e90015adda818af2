"""What is done next for a volume, by the claim that it names. Pure.

Available ──bound──▶ Bound ──its claim is gone──▶ Released ──Delete──▶ gone
                                                      └──cannot be given back──▶ Failed
"""

from __future__ import annotations

from dataclasses import dataclass

from proreus.cluster.volumes import storage_annotations as annotated
from proreus.cluster.volumes.views import Volume, VolumeClaim

AVAILABLE, BOUND, RELEASED, FAILED = "Available", "Bound", "Released", "Failed"


@dataclass(frozen=True, slots=True)
class SetPhase:
    phase: str


@dataclass(frozen=True, slots=True)
class FailVolume:
    """It cannot be given back."""

    reason: str
    message: str


@dataclass(frozen=True, slots=True)
class Unbind:
    """Its claim is bound to another volume."""


@dataclass(frozen=True, slots=True)
class LeaveToBinder:
    """The claim does not name it yet."""


VolumeStep = SetPhase | FailVolume | Unbind | LeaveToBinder


def volume_step(volume: Volume, claim: VolumeClaim | None) -> VolumeStep:
    """``claim``: the one of the name that the volume names."""
    if volume.claim is None or not volume.claim.uid:
        return SetPhase(AVAILABLE)
    if claim is None or claim.uid != volume.claim.uid:
        return _released(volume)
    if not claim.volume_name:
        return LeaveToBinder()
    if claim.volume_name == volume.name:
        return SetPhase(BOUND)
    is_provisioned = annotated.PROVISIONED_BY in volume.annotations
    if is_provisioned and volume.reclaim_policy == "Delete":
        return _released(volume)  # made for this claim, which got another one
    return Unbind()


def _released(volume: Volume) -> VolumeStep:
    if volume.phase not in (RELEASED, FAILED):
        return SetPhase(RELEASED)
    if volume.reclaim_policy == "Recycle":
        return FailVolume("VolumeFailedRecycle", "No recycler plugin found for the volume!")
    if volume.reclaim_policy == "Delete" and annotated.PROVISIONED_BY not in volume.annotations:
        why = f'error getting deleter volume plugin for volume "{volume.name}"'
        return FailVolume("VolumeFailedDelete", f"{why}: no deletable volume plugin matched")
    return SetPhase(volume.phase)  # it is kept, or whoever provisioned it deletes it
