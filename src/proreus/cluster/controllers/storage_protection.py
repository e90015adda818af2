"""Storage object in use protection: claims, volumes and attributes classes are deleted once they
are not in use.

The server gives each a finalizer; here it is taken off: from a claim once no pod on a node mounts
it, from a volume once it is bound to no claim, from a class once no claim or volume has its
attributes or waits for them.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable

from proreus.api.object import KubeObject
from proreus.client.controller import Controller, Result, Watch
from proreus.cluster.controllers.context import ControllerContext
from proreus.cluster.controllers.reconciler import ObjectReconciler
from proreus.cluster.pod_status import is_deleting, is_finished
from proreus.cluster.volumes.pod_claims import claims_of, may_have_claims

CLAIM_FINALIZER = "kubernetes.io/pvc-protection"
VOLUME_FINALIZER = "kubernetes.io/pv-protection"
ATTRIBUTES_CLASS_FINALIZER = "kubernetes.io/vac-protection"
_ATTRIBUTES_CLASSES = "volumeattributesclasses.storage.k8s.io"


def is_used(claim: KubeObject, pods: Iterable[KubeObject]) -> bool:
    """A pod that is on no node has mounted nothing, one that ended nothing any more."""
    return any(
        pod.spec.nodeName and not is_finished(pod) and claim.key in claims_of(pod) for pod in pods
    )


def attributes_classes_of(storage: KubeObject) -> list[str]:
    """Names of the classes that a claim or volume names, has, or is being changed to."""
    spec, status = storage.spec or {}, storage.status or {}
    named = (
        spec.get("volumeAttributesClassName"),
        status.get("currentVolumeAttributesClassName"),
        (status.get("modifyVolumeStatus") or {}).get("targetVolumeAttributesClassName"),
    )
    return [name for name in dict.fromkeys(named) if name]


class _Protected(ObjectReconciler):
    """Takes ``finalizer`` off objects that are being deleted and not in use."""

    finalizer: str

    @abstractmethod
    def is_in_use(self, obj: KubeObject) -> bool: ...

    async def sync(self, obj: KubeObject) -> Result | None:
        present = obj.metadata.finalizers or ()
        if self.finalizer in present and is_deleting(obj) and not self.is_in_use(obj):
            content = obj.to_dict()
            content["metadata"]["finalizers"] = [one for one in present if one != self.finalizer]
            await self.api.in_namespace_of(obj).replace(content)
        return None


class ProtectedClaims(_Protected):
    finalizer = CLAIM_FINALIZER

    def __init__(self, context: ControllerContext) -> None:
        super().__init__(context, "persistentvolumeclaims")
        self.pods = context.owned_informer("pods")

    def is_in_use(self, claim: KubeObject) -> bool:
        return is_used(claim, self.pods.lister.list(namespace=claim.namespace))


class ProtectedVolumes(_Protected):
    finalizer = VOLUME_FINALIZER

    def is_in_use(self, volume: KubeObject) -> bool:
        return bool((volume.status or {}).get("phase") == "Bound")


class ProtectedAttributesClasses(_Protected):
    finalizer = ATTRIBUTES_CLASS_FINALIZER

    def __init__(self, context: ControllerContext) -> None:
        super().__init__(context, _ATTRIBUTES_CLASSES)
        self.users = [
            context.informers.informer(resource)
            for resource in ("persistentvolumeclaims", "persistentvolumes")
        ]

    def is_in_use(self, attributes_class: KubeObject) -> bool:
        return any(
            attributes_class.name in attributes_classes_of(user)
            for informer in self.users
            for user in informer.indexer.objects()
        )


def claim_protection_controller(context: ControllerContext) -> Controller:
    claims = ProtectedClaims(context)
    # A pod's volumes never change, so that one of its states tells.
    watches = [Watch(claims.pods, claims_of, when=lambda news: may_have_claims(news.object))]
    return claims.controller("pvc-protection", watches=watches, concurrency=1)


def volume_protection_controller(context: ControllerContext) -> Controller:
    volumes = ProtectedVolumes(context, "persistentvolumes")
    return volumes.controller("pv-protection", concurrency=1)


def attributes_class_protection_controller(context: ControllerContext) -> Controller:
    classes = ProtectedAttributesClasses(context)
    watches = [Watch(informer, attributes_classes_of) for informer in classes.users]
    return classes.controller("volumeattributesclass-protection", watches=watches, concurrency=1)
