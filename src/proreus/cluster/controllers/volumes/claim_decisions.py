"""What is done next for a claim. Pure.

Pending ──a volume suits──▶ Bound ──its volume is gone, or another's──▶ Lost
   └── waits: for a volume, a provisioner, or a pod that uses it
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from proreus.cluster.volumes import storage_annotations as annotated
from proreus.cluster.volumes.matching import best_match, mismatch
from proreus.cluster.volumes.views import StorageClass, Volume, VolumeClaim

PENDING, BOUND, LOST = "Pending", "Bound", "Lost"


@dataclass(frozen=True, slots=True)
class BindClaim:
    """Let both objects name each other, as far as they do not yet."""

    volume: str


@dataclass(frozen=True, slots=True)
class Await:
    """Pending. ``reason`` empty: there is nothing to say about it."""

    reason: str = ""
    message: str = ""
    is_warning: bool = False


@dataclass(frozen=True, slots=True)
class Provision:
    """Somebody else makes a volume."""

    provisioner: str


@dataclass(frozen=True, slots=True)
class Lose:
    reason: str
    message: str


@dataclass(frozen=True, slots=True)
class TakeClass:
    """The claim says nothing of a class, and by now there is a default one."""

    name: str


ClaimStep = BindClaim | Await | Provision | Lose | TakeClass


@dataclass(frozen=True, slots=True)
class ClaimSurroundings:
    """``volume``: the one that the claim names. ``candidates``: those that are reserved for it, and
    the free ones of its class. ``waiting_pods``: names of pods that use it and have no node."""

    volume: Volume | None
    candidates: Sequence[Volume]
    storage_class: StorageClass | None
    default_class: str
    waiting_pods: Callable[[], Sequence[str]]


def claim_step(claim: VolumeClaim, around: ClaimSurroundings) -> ClaimStep:
    if annotated.BIND_COMPLETED in claim.annotations:
        return _bound(claim, around.volume)
    if claim.volume_name:
        return _named(claim, around.volume)
    is_delayed = around.storage_class is not None and around.storage_class.is_delayed
    found = best_match(claim, around.candidates, is_delayed=is_delayed)
    if found is not None:
        return BindClaim(found.name)
    if claim.class_name is None and around.default_class:
        return TakeClass(around.default_class)
    if is_delayed and not claim.selected_node:
        return _consumer_awaited(around.waiting_pods())
    if not claim.class_name:
        text = "no persistent volumes available for this claim and no storage class is set"
        return Await("FailedBinding", text)
    return _provisioned(claim.class_name, around.storage_class)


def _bound(claim: VolumeClaim, volume: Volume | None) -> ClaimStep:
    """A claim whose binding was completed once."""
    if not claim.volume_name:
        text = "Bound claim has lost reference to PersistentVolume. Data on the volume is lost!"
        return Lose("ClaimLost", text)
    if volume is None:
        text = "Bound claim has lost its PersistentVolume. Data on the volume is lost!"
        return Lose("ClaimLost", text)
    if volume.claim is None or volume.claim.uid == claim.uid:
        return BindClaim(volume.name)
    text = "Two claims are bound to the same volume, this one is bound incorrectly"
    return Lose("ClaimMisbound", text)


def _named(claim: VolumeClaim, volume: Volume | None) -> ClaimStep:
    """A claim that asks for one volume by its name."""
    if volume is None:
        return Await()
    if volume.claim is None:
        if why := mismatch(claim, volume):
            text = f'Cannot bind to requested volume "{volume.name}": {why}'
            return Await("VolumeMismatch", text, is_warning=True)
        return BindClaim(volume.name)
    if volume.is_for(claim):
        return BindClaim(volume.name)
    text = f'volume "{volume.name}" already bound to a different claim.'
    return Await("FailedBinding", text, is_warning=True)


def _consumer_awaited(pods: Sequence[str]) -> Await:
    if not pods:
        text = "waiting for first consumer to be created before binding"
        return Await("WaitForFirstConsumer", text)
    text = f"waiting for pod{'s' if len(pods) > 1 else ''} {','.join(pods)} to be scheduled"
    return Await("WaitForPodScheduled", text)


def _provisioned(name: str, storage_class: StorageClass | None) -> ClaimStep:
    if storage_class is None:
        text = f'storageclass.storage.k8s.io "{name}" not found'
        return Await("ProvisioningFailed", text, is_warning=True)
    if storage_class.provisioner.startswith("kubernetes.io/"):  # there are no plugins here
        text = f"no volume plugin matched name: {storage_class.provisioner}"
        return Await("ProvisioningFailed", text, is_warning=True)
    return Provision(storage_class.provisioner)


def external_provisioning(provisioner: str) -> str:
    return (
        f"Waiting for a volume to be created either by the external provisioner '{provisioner}' "
        "or manually by the system administrator. If volume creation is delayed, please verify "
        "that the provisioner is running and correctly registered."
    )
