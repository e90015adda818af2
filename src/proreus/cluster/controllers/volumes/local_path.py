"""Volumes that are folders of this machine: what they look like, and which may be removed. Pure."""

from __future__ import annotations

from pathlib import Path

from proreus.api.json_types import JsonObject
from proreus.api.object import KubeObject
from proreus.cluster.volumes import storage_annotations as annotated
from proreus.cluster.volumes.bound_objects import claim_reference
from proreus.cluster.volumes.standard_class import PROVISIONER

HOST_NAME = "kubernetes.io/hostname"


def volume_name(claim: KubeObject) -> str:
    return f"pvc-{claim.uid}"


def volume_for(
    claim: KubeObject, storage_class: KubeObject, folder: Path, host_name: str
) -> JsonObject:
    """``host_name``: of the node where it can be mounted; empty: of any."""
    name, wanted = volume_name(claim), claim.to_dict()["spec"]
    spec: JsonObject = {
        "accessModes": wanted.get("accessModes") or [],
        "capacity": {"storage": wanted["resources"]["requests"]["storage"]},
        "claimRef": claim_reference(claim),
        "persistentVolumeReclaimPolicy": storage_class.get("reclaimPolicy") or "Delete",
        "storageClassName": storage_class.name,
        "volumeMode": "Filesystem",
        "hostPath": {
            "path": str(folder / folder_name(name, claim.namespace, claim.name)),
            "type": "DirectoryOrCreate",
        },
    }
    if options := storage_class.get("mountOptions"):
        spec["mountOptions"] = list(options)
    if host_name:
        expression = {"key": HOST_NAME, "operator": "In", "values": [host_name]}
        terms = [{"matchExpressions": [expression]}]
        spec["nodeAffinity"] = {"required": {"nodeSelectorTerms": terms}}
    return {
        "apiVersion": "v1",
        "kind": "PersistentVolume",
        "metadata": {
            "name": name,
            "annotations": {annotated.PROVISIONED_BY: PROVISIONER},
            "finalizers": [annotated.PROVISIONER_FINALIZER],
        },
        "spec": spec,
    }


def folder_name(volume: str, namespace: str, claim: str) -> str:
    """For people who look for their files."""
    return f"{volume}_{namespace}_{claim}"


def is_ours(volume: KubeObject) -> bool:
    return volume.annotations.get(annotated.PROVISIONED_BY) == PROVISIONER


def removable_folder(volume: KubeObject, folder: Path) -> Path | None:
    """The folder of a volume that we made; None for a volume that names any other place, whatever
    its annotations say: anybody who may create volumes could have any file removed."""
    reference = (volume.spec or {}).get("claimRef") or {}
    namespace, claim = str(reference.get("namespace")), str(reference.get("name"))
    wanted = folder / folder_name(volume.name, namespace, claim)
    said = ((volume.spec or {}).get("hostPath") or {}).get("path")
    return wanted if said == str(wanted) and wanted.parent == folder else None
