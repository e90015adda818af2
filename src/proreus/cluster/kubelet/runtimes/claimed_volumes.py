"""The volumes of the claims that pods mount, asked for when a pod starts.

A node may get the claims of its pods and their volumes, one by one; it may not watch them. The
scheduler binds a pod after its claims, so that one look is enough, unless a user did it by hand.
"""

from __future__ import annotations

from collections.abc import Iterable

from proreus.api.object import KubeObject
from proreus.api.status import ApiError
from proreus.client import Client, TransportError
from proreus.cluster.kubelet.runtimes.pod_spec.pod_spec import PodSpec
from proreus.cluster.kubelet.runtimes.pod_spec.references import ConfigProblem
from proreus.cluster.pod_status import is_deleting
from proreus.cluster.volumes.pod_claims import PodClaim, is_made_for, pod_claims
from proreus.cluster.volumes.views import Volume, VolumeClaim


class ClaimNotReady(ConfigProblem):
    """A pod cannot mount a claim; the text is for the user."""


async def claimed_volumes(client: Client, pod: PodSpec) -> dict[str, KubeObject]:
    """By the names of the pod's claims. Raises ``ClaimNotReady``."""
    found: dict[str, KubeObject] = {}
    for claim in claims_mounted(pod):
        try:
            found[claim.name] = await _volume_of(client, pod, claim)
        except (ConfigProblem, ApiError, TransportError) as problem:
            unready = f"unmounted volumes=[{claim.volume}], unattached volumes=[]"
            said = f"{unready}, failed to process volumes=[{claim.volume}]"
            place = f"{pod.namespace}/{claim.name}"
            raise ClaimNotReady(
                f"Unable to attach or mount volumes: {said}: "
                f"error processing PVC {place}: {problem}"
            ) from problem
    return found


def claims_mounted(pod: PodSpec) -> list[PodClaim]:
    """The claims of volumes that some container mounts: the others are of no use."""
    named = pod_claims(pod.name, pod.spec.get("volumes"))
    if not named:
        return []
    mounted = {
        mount["name"]
        for container in pod.all()
        for mount in (
            *_listed(container.content.get("volumeMounts")),
            *_listed(container.content.get("volumeDevices")),
        )
    }
    return [claim for claim in named if claim.volume in mounted]


async def _volume_of(client: Client, pod: PodSpec, named: PodClaim) -> KubeObject:
    """Raises ``ConfigProblem``, ``ApiError``, ``TransportError``."""
    found = await client.core_v1.persistentvolumeclaims(pod.namespace).get(named.name)
    claim = VolumeClaim.read(found)
    if named.is_ephemeral and not is_made_for(found, pod.uid):
        raise ConfigProblem("PVC was not created for pod (pod is not owner)")
    if is_deleting(found):
        raise ConfigProblem("PVC is being deleted")
    if claim.phase != "Bound" or not claim.volume_name:
        raise ConfigProblem("PVC is not bound")
    volume = await client.core_v1.persistentvolumes.get(claim.volume_name)
    reference = Volume.read(volume).claim
    if reference is None or reference.uid != claim.uid:
        raise ConfigProblem(f"PV {volume.name} is bound to another PVC")
    return volume


def _listed(said: Iterable[dict[str, str]] | None) -> Iterable[dict[str, str]]:
    return said or ()
