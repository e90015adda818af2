"""Claims, volumes and storage classes as those who bind them see them: read once. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction

from proreus.api.json_types import Json
from proreus.api.object import KubeObject
from proreus.api.selectors.labels import LabelSelector
from proreus.api.values import quantity
from proreus.cluster.pod_status import is_deleting
from proreus.cluster.volumes import storage_annotations as annotated

DELAYED = "WaitForFirstConsumer"
NO_PROVISIONER = "kubernetes.io/no-provisioner"
_FILESYSTEM = "Filesystem"


def named_class(obj: KubeObject) -> str | None:
    """The storage class of a claim or a volume; its old annotation counts before the field."""
    name: str | None = (obj.spec or {}).get("storageClassName")
    return obj.annotations.get(annotated.BETA_STORAGE_CLASS, name)


@dataclass(frozen=True, slots=True)
class VolumeClaim:
    """``class_name`` None: it says nothing. ``selector`` None: any volume."""

    namespace: str
    name: str
    uid: str
    class_name: str | None
    volume_name: str
    modes: frozenset[str]
    volume_mode: str
    request: Fraction
    selector: LabelSelector | None
    attributes_class: str
    annotations: Mapping[str, str]
    phase: str
    is_deleting: bool

    @classmethod
    def read(cls, claim: KubeObject) -> VolumeClaim:
        spec: Json = claim.spec or {}
        selector = spec.get("selector")
        return cls(
            namespace=claim.namespace,
            name=claim.name,
            uid=claim.uid,
            class_name=named_class(claim),
            volume_name=spec.get("volumeName") or "",
            modes=frozenset(spec.get("accessModes") or ()),
            volume_mode=spec.get("volumeMode") or _FILESYSTEM,
            request=_storage((spec.get("resources") or {}).get("requests")),
            selector=None if selector is None else LabelSelector.from_object(selector),
            attributes_class=spec.get("volumeAttributesClassName") or "",
            annotations=claim.annotations,
            phase=(claim.status or {}).get("phase") or "",
            is_deleting=is_deleting(claim),
        )

    @property
    def key(self) -> str:
        return f"{self.namespace}/{self.name}"

    @property
    def is_bound(self) -> bool:
        """Completely: both objects say so."""
        return bool(self.volume_name) and annotated.BIND_COMPLETED in self.annotations

    @property
    def selected_node(self) -> str:
        """Where the pod will run for which its volume is made; empty: no one has said."""
        return self.annotations.get(annotated.SELECTED_NODE, "")


@dataclass(frozen=True, slots=True)
class ClaimReference:
    """``uid`` empty: reserved for whichever claim has this name."""

    namespace: str
    name: str
    uid: str

    @property
    def key(self) -> str:
        return f"{self.namespace}/{self.name}"


@dataclass(frozen=True, slots=True)
class Volume:
    """``node_terms`` None: it can be mounted anywhere."""

    name: str
    class_name: str
    modes: frozenset[str]
    volume_mode: str
    capacity: Fraction
    labels: Mapping[str, str]
    annotations: Mapping[str, str]
    claim: ClaimReference | None
    node_terms: tuple[Json, ...] | None
    attributes_class: str
    reclaim_policy: str
    phase: str
    is_deleting: bool

    @classmethod
    def read(cls, volume: KubeObject) -> Volume:
        spec: Json = volume.spec or {}
        required = (spec.get("nodeAffinity") or {}).get("required")
        terms = None if required is None else tuple(required.get("nodeSelectorTerms") or ())
        return cls(
            name=volume.name,
            class_name=named_class(volume) or "",
            modes=frozenset(spec.get("accessModes") or ()),
            volume_mode=spec.get("volumeMode") or _FILESYSTEM,
            capacity=_storage(spec.get("capacity")),
            labels=volume.labels,
            annotations=volume.annotations,
            claim=_claim_reference(spec.get("claimRef")),
            node_terms=terms,
            attributes_class=spec.get("volumeAttributesClassName") or "",
            reclaim_policy=spec.get("persistentVolumeReclaimPolicy") or "Retain",
            phase=(volume.status or {}).get("phase") or "",
            is_deleting=is_deleting(volume),
        )

    def is_for(self, claim: VolumeClaim) -> bool:
        """Whether it is bound to this claim, or reserved for it by name."""
        return (
            self.claim is not None
            and self.claim.key == claim.key
            and self.claim.uid in ("", claim.uid)
        )


@dataclass(frozen=True, slots=True)
class StorageClass:
    name: str
    provisioner: str
    is_delayed: bool
    is_default: bool
    allows_expansion: bool
    topologies: tuple[Json, ...]
    created: str

    @classmethod
    def read(cls, found: KubeObject) -> StorageClass:
        marks = (annotated.DEFAULT_CLASS, annotated.BETA_DEFAULT_CLASS)
        return cls(
            name=found.name,
            provisioner=found.get("provisioner") or "",
            is_delayed=found.get("volumeBindingMode") == DELAYED,
            is_default=any(found.annotations.get(mark) == "true" for mark in marks),
            allows_expansion=bool(found.get("allowVolumeExpansion")),
            topologies=tuple(found.get("allowedTopologies") or ()),
            created=found.metadata.creationTimestamp or "",
        )

    @property
    def can_provision(self) -> bool:
        return self.provisioner not in ("", NO_PROVISIONER)


def default_class(classes: Iterable[StorageClass]) -> StorageClass | None:
    """The newest of those that are marked as the default."""
    marked = sorted((one for one in classes if one.is_default), key=lambda one: one.name)
    return max(marked, key=lambda one: one.created, default=None)


def _storage(amounts: Json | None) -> Fraction:
    return quantity.amount((amounts or {}).get("storage") or "0")


def _claim_reference(said: Json | None) -> ClaimReference | None:
    if said is None:
        return None
    namespace, name = said.get("namespace") or "", said.get("name") or ""
    return ClaimReference(namespace, name, said.get("uid") or "")
