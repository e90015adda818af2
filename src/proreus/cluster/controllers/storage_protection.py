"""Claims and volumes that are being deleted go only when nobody uses them any more.

The server gives each a finalizer; here it is taken off: from a claim once no pod on a node mounts
it, from a volume once it is bound to no claim.
"""

from __future__ import annotations

from collections.abc import Iterable

from proreus.api.object import KubeObject
from proreus.client.controller import Controller, Watch
from proreus.client.resources.resource_client import ResourceClient
from proreus.cluster.controllers.own_writes import OwnWrites, reconciling
from proreus.cluster.controllers.ownership import is_deleting
from proreus.cluster.controllers.pod_template import is_finished
from proreus.cluster.controllers.setting import Setting

CLAIM_FINALIZER = "kubernetes.io/pvc-protection"
VOLUME_FINALIZER = "kubernetes.io/pv-protection"


def claims_of(pod: KubeObject) -> list[str]:
    """Keys of the claims that a pod mounts, ephemeral ones too."""
    found = []
    for volume in pod.spec.volumes or ():
        if claim := volume.get("persistentVolumeClaim"):
            found.append(f"{pod.namespace}/{claim['claimName']}")
        elif "ephemeral" in volume:
            found.append(f"{pod.namespace}/{pod.name}-{volume['name']}")
    return found


def is_used(claim: KubeObject, pods: Iterable[KubeObject]) -> bool:
    """A pod that is on no node has mounted nothing, one that ended nothing any more."""
    return any(
        pod.spec.nodeName and not is_finished(pod) and claim.key in claims_of(pod) for pod in pods
    )


def claim_protection_controller(setting: Setting) -> Controller:
    claims = setting.informers.informer("persistentvolumeclaims")
    pods = setting.owned("pods")
    api, writes = setting.client.core_v1.persistentvolumeclaims, OwnWrites()

    async def sync(claim: KubeObject) -> None:
        if is_deleting(claim) and not is_used(claim, pods.lister.list(namespace=claim.namespace)):
            await _take_off(api, claim, CLAIM_FINALIZER)

    watches = [Watch(pods, claims_of)]
    return Controller(
        reconciling(claims, writes, sync), claims, watches=watches, name="pvc-protection"
    )


def volume_protection_controller(setting: Setting) -> Controller:
    volumes = setting.informers.informer("persistentvolumes")
    api, writes = setting.client.core_v1.persistentvolumes, OwnWrites()

    async def sync(volume: KubeObject) -> None:
        if is_deleting(volume) and (volume.status or {}).get("phase") != "Bound":
            await _take_off(api, volume, VOLUME_FINALIZER)

    return Controller(reconciling(volumes, writes, sync), volumes, name="pv-protection")


async def _take_off(api: ResourceClient, obj: KubeObject, finalizer: str) -> None:
    kept = [one for one in obj.metadata.finalizers or () if one != finalizer]
    if len(kept) < len(obj.metadata.finalizers or ()):
        content = obj.to_dict()
        content["metadata"]["finalizers"] = kept
        await api(obj.namespace).replace(content)
