"""Claims, volumes and classes, for the pods that mount some.

Receives: claims, volumes and storage classes, from informers that begin with the first pod that
mounts a claim: a cluster without claims pays for none of them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from proreus.api.object import KubeObject
from proreus.client.informer import SharedInformer, SharedInformerFactory
from proreus.cluster.scheduler.node import NodeState
from proreus.cluster.scheduler.pod import PodView
from proreus.cluster.scheduler.pod_volumes import (
    UNBOUND,
    DelayedClaim,
    PodVolumes,
    VolumeChoice,
    has_other_user,
)
from proreus.cluster.volumes.indexes import (
    INDEX,
    claim_values,
    of_claim,
    of_class,
    volume_values,
)
from proreus.cluster.volumes.pod_claims import PodClaim, is_made_for, pod_claims
from proreus.cluster.volumes.views import StorageClass, Volume, VolumeClaim


class ClaimProblem(Exception):
    """Why a pod cannot be placed on any node; the text is for the user."""


class VolumeLookup:
    """``changed`` is called when a claim, a volume or a class did."""

    def __init__(self, informers: SharedInformerFactory, changed: Callable[[], None]) -> None:
        self._informers = informers
        self._changed = changed
        self._taken: dict[str, str] = {}  # volume → the claim that is about to get it
        self.is_ready = False
        self.claims: SharedInformer
        self.volumes: SharedInformer
        self._classes: SharedInformer

    async def begin(self) -> None:
        """Returns once all that the server has is known here."""
        get = self._informers.informer
        self.claims = get("persistentvolumeclaims", indexes={INDEX: claim_values})
        self.volumes = get("persistentvolumes", indexes={INDEX: volume_values})
        self._classes = get("storageclasses.storage.k8s.io")
        followed = (self.claims, self.volumes, self._classes)
        for informer in followed:
            informer.add_handler(on_notification=lambda _: self._changed(), name="scheduler")
        self._informers.start()
        for informer in followed:
            await informer.wait_synced()
        self.is_ready = True

    def of(self, pod: PodView, nodes: Iterable[NodeState]) -> PodVolumes | None:
        """None for a pod that mounts no claim. Raises ``ClaimProblem``."""
        named = pod_claims(pod.name, pod.spec.get("volumes"))
        if not named:
            return None
        bound: list[Volume | None] = []
        delayed: list[DelayedClaim] = []
        has_unbound = False
        claims = [self._claim(pod, one) for one in named]
        for claim in claims:
            if claim.is_bound:
                found = self.volumes.indexer.get(claim.volume_name)
                bound.append(Volume.read(found) if found is not None else None)
            elif (waiting := self._delayed(claim)) is not None:
                delayed.append(waiting)
            else:
                has_unbound = True
        if has_unbound:
            raise ClaimProblem(UNBOUND)
        is_in_use = any(has_other_user(pod, claim, nodes) for claim in claims)
        return PodVolumes(tuple(bound), tuple(delayed), frozenset(self._taken), is_in_use)

    def take(self, choice: VolumeChoice) -> None:
        """No other pod gets these volumes, until they are released."""
        self._taken.update({volume: claim for claim, volume in choice.bindings.items()})

    def release(self, choice: VolumeChoice) -> None:
        """The binding is written, and seen here; or it failed."""
        for volume in choice.bindings.values():
            self._taken.pop(volume, None)

    def claim(self, key: str) -> KubeObject | None:
        return self.claims.indexer.get(key)

    def volume(self, name: str) -> KubeObject | None:
        return self.volumes.indexer.get(name)

    def _claim(self, pod: PodView, named: PodClaim) -> VolumeClaim:
        found = self.claims.indexer.get(f"{pod.namespace}/{named.name}")
        said = f'persistentvolumeclaim "{named.name}"'
        if found is None and named.is_ephemeral:
            raise ClaimProblem(f"waiting for ephemeral volume controller to create the {said}")
        if found is None:
            raise ClaimProblem(f"{said} not found")
        claim = VolumeClaim.read(found)
        if claim.phase == "Lost":
            wrong = f'bound to non-existent persistentvolume "{claim.volume_name}"'
            raise ClaimProblem(f"{said} {wrong}")
        if claim.is_deleting:
            raise ClaimProblem(f"{said} is being deleted")
        if named.is_ephemeral and not is_made_for(found, pod.uid):
            text = f'PVC "{claim.key}" was not created for pod "{pod.key}" (pod is not owner)'
            raise ClaimProblem(text)
        return claim

    def _delayed(self, claim: VolumeClaim) -> DelayedClaim | None:
        """None: its binding does not wait for a pod."""
        found = self._classes.indexer.get(claim.class_name or "")
        if found is None or claim.volume_name:
            return None
        storage_class, find = StorageClass.read(found), self.volumes.indexer.by_index
        if not storage_class.is_delayed:
            return None
        volumes = [
            *find(INDEX, of_claim(claim.key)),
            *find(INDEX, of_class(claim.class_name)),
        ]
        return DelayedClaim(claim, storage_class, [Volume.read(one) for one in volumes])
