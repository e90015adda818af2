"""Claims, volumes and classes, as users write them."""

from __future__ import annotations

from typing import Any

from proreus.api.object import KubeObject
from proreus.cluster.volumes.views import StorageClass, Volume, VolumeClaim


def claim(name: str = "data", *, storage: str = "1Gi", **content: Any) -> VolumeClaim:
    return VolumeClaim.read(claim_object(name, storage=storage, **content))


def claim_object(name: str = "data", *, storage: str = "1Gi", **content: Any) -> KubeObject:
    """``content``: of metadata (annotations, uid), status (phase), and the spec."""
    metadata = {
        "name": name,
        "namespace": content.pop("namespace", "default"),
        "uid": content.pop("uid", f"uid-{name}"),
        "resourceVersion": "7",
        "annotations": content.pop("annotations", {}),
    }
    status = {"phase": content.pop("phase", "Pending")}
    spec = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": storage}}}
    return _object("PersistentVolumeClaim", metadata, {**spec, **content}, status)


def volume(name: str, *, storage: str = "1Gi", **content: Any) -> Volume:
    return Volume.read(volume_object(name, storage=storage, **content))


def volume_object(name: str, *, storage: str = "1Gi", **content: Any) -> KubeObject:
    metadata: dict[str, Any] = {"name": name, "annotations": content.pop("annotations", {})}
    metadata["labels"] = content.pop("labels", {})
    if content.pop("is_deleting", False):
        metadata["deletionTimestamp"] = "2026-01-01T00:00:00Z"
    status = {"phase": content.pop("phase", "Available")}
    spec = {"accessModes": ["ReadWriteOnce"], "capacity": {"storage": storage}}
    return _object("PersistentVolume", metadata, {**spec, **content}, status)


def storage_class(name: str, **content: Any) -> StorageClass:
    annotations = content.pop("annotations", {})
    found = {"metadata": {"name": name, "annotations": annotations}, **content}
    return StorageClass.read(KubeObject.from_dict(found))


def reference(name: str = "data", uid: str = "uid-data") -> dict[str, str]:
    return {"namespace": "default", "name": name, "uid": uid}


def on_node(name: str) -> dict[str, Any]:
    """A node affinity."""
    expression = {"key": "kubernetes.io/hostname", "operator": "In", "values": [name]}
    return {"required": {"nodeSelectorTerms": [{"matchExpressions": [expression]}]}}


def _object(kind: str, metadata: Any, spec: Any, status: Any) -> KubeObject:
    content = {"apiVersion": "v1", "kind": kind, "metadata": metadata}
    return KubeObject.from_dict({**content, "spec": spec, "status": status})
