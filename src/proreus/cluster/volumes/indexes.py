"""How claims find volumes and volumes claims without looking at all of them. Pure.

Claims are indexed by the volume that they name, else by their class; volumes by the claim that they
name, else by their class.
"""

from __future__ import annotations

from proreus.api.object import KubeObject
from proreus.cluster.volumes.views import named_class

INDEX = "binding"


def claim_values(claim: KubeObject) -> tuple[str, ...]:
    spec = claim.spec or {}
    if named := spec.get("volumeName"):
        return (of_volume(named),)
    return (of_class(named_class(claim)),)


def volume_values(volume: KubeObject) -> tuple[str, ...]:
    spec = volume.spec or {}
    if reference := spec.get("claimRef"):
        return (of_claim(f"{reference.get('namespace')}/{reference.get('name')}"),)
    return (of_class(named_class(volume)),)


def of_claim(key: str) -> str:
    return f"claim {key}"


def of_volume(name: str) -> str:
    return f"volume {name}"


def of_class(name: str | None) -> str:
    return f"class {name or ''}"
