"""Warnings about volumes and claims: kinds that are gone, sizes that are no whole bytes."""

from __future__ import annotations

from collections.abc import Iterator

from proreus.api.json_types import Json
from proreus.server.kinds.parts.node_labels import node_term_warnings
from proreus.server.kinds.parts.resources import fractional_bytes

# What is printed, since when deprecated, since when without effect.
_GONE = {
    "photonPersistentDisk": ("photonPersistentDisk", "v1.11", "v1.16"),
    "scaleIO": ("scaleIO", "v1.16", "v1.22"),
    "storageos": ("storageOS", "v1.22", "v1.25"),
    "quobyte": ("quobyte", "v1.22", "v1.25"),
    "flocker": ("flocker", "v1.22", "v1.25"),
    "glusterfs": ("glusterfs", "v1.25", "v1.26"),
    "cephfs": ("cephfs", "v1.28", "v1.31"),
    "rbd": ("rbd", "v1.28", "v1.31"),
}
BETA_CLASS = "volume.beta.kubernetes.io/storage-class"
_OLD_CLASS = 'deprecated since v1.8; use "storageClassName" attribute instead'
_RECYCLE = (
    "The Recycle reclaim policy is deprecated. Instead, the recommended approach is to use dynamic "
    "provisioning."
)


def volume_warnings(volume: Json, at: str) -> Iterator[str]:
    """Of a pod's volume."""
    if volume.get("gitRepo") is not None:
        yield f"{at}.gitRepo: deprecated in v1.11, and disabled by default in v1.33+"
    yield from _gone(volume, at)
    if template := (volume.get("ephemeral") or {}).get("volumeClaimTemplate"):
        where = f"{at}.ephemeral.volumeClaimTemplate.spec"
        yield from claim_spec_warnings(template.get("spec") or {}, where)


def _gone(holder: Json, at: str) -> Iterator[str]:
    for key, (printed, deprecated, gone) in _GONE.items():
        if holder.get(key) is not None:
            yield f"{at}.{printed}: deprecated in {deprecated}, non-functional in {gone}+"


def persistent_volume_warnings(obj: Json) -> list[str]:
    spec = obj["spec"]
    found = list(_old_class(obj))
    if spec.get("persistentVolumeReclaimPolicy") == "Recycle":
        found.append(f"spec.persistentVolumeReclaimPolicy: {_RECYCLE}")
    required = (spec.get("nodeAffinity") or {}).get("required") or {}
    for index, term in enumerate(required.get("nodeSelectorTerms") or ()):
        at = f"spec.nodeAffinity.required.nodeSelectorTerms[{index}]"
        found += node_term_warnings(term, at)
    return [*found, *_gone(spec, "spec")]


def claim_warnings(obj: Json) -> list[str]:
    return [*_old_class(obj), *claim_spec_warnings(obj["spec"], "spec")]


def claim_spec_warnings(spec: Json, at: str) -> Iterator[str]:
    resources = spec.get("resources") or {}
    for part in ("requests", "limits"):
        for name, value in fractional_bytes(resources.get(part)):
            if name == "storage":
                yield (
                    f'{at}.resources.{part}[storage]: fractional byte value "{value}" is invalid, '
                    "must be an integer"
                )


def _old_class(obj: Json) -> Iterator[str]:
    if BETA_CLASS in (obj["metadata"].get("annotations") or {}):
        yield f"metadata.annotations[{BETA_CLASS}]: {_OLD_CLASS}"
