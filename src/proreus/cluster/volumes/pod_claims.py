"""The claims that a pod mounts: those that it names, and those that are made for it. Pure."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from proreus.api.json_types import Json
from proreus.api.object import KubeObject

EPHEMERAL_MARK = b'"ephemeral"'
_CLAIM_MARK = b'"persistentVolumeClaim"'


@dataclass(frozen=True, slots=True)
class PodClaim:
    """``is_ephemeral``: made for the pod, and deleted with it."""

    volume: str
    name: str
    is_ephemeral: bool


def may_have_claims(pod: KubeObject) -> bool:
    """Most pods have none, which their bytes tell: they are not decoded."""
    raw = pod.raw
    return _CLAIM_MARK in raw or EPHEMERAL_MARK in raw


def claims_of(pod: KubeObject) -> list[str]:
    """Keys of the claims that a pod mounts, ephemeral ones too."""
    if not may_have_claims(pod):
        return []
    return [f"{pod.namespace}/{one.name}" for one in pod_claims(pod.name, pod.spec.volumes)]


def pod_claims(pod: str, volumes: Iterable[Json] | None) -> list[PodClaim]:
    found: list[PodClaim] = []
    for volume in volumes or ():
        if claim := volume.get("persistentVolumeClaim"):
            found.append(PodClaim(volume["name"], claim["claimName"], is_ephemeral=False))
        elif volume.get("ephemeral") is not None:
            name = f"{pod}-{volume['name']}"
            found.append(PodClaim(volume["name"], name, is_ephemeral=True))
    return found


def is_made_for(claim: KubeObject, pod_uid: str) -> bool:
    """Whether an ephemeral volume's claim is the pod's own, not one that had its name before."""
    return claim.controller_uid == pod_uid
