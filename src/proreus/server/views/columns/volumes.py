"""Persistent volumes, claims and the classes and drivers behind them."""

from __future__ import annotations

from collections.abc import Sequence

from proreus.server.views.columns.cells import UNSET, Object, age, is_deleting, name_of
from proreus.server.views.columns.printer import Cells, Printer, columns

_CLASS_ANNOTATION = "volume.beta.kubernetes.io/storage-class"
_DEFAULT_ANNOTATIONS = (
    "storageclass.kubernetes.io/is-default-class",
    "storageclass.beta.kubernetes.io/is-default-class",
)
_MODES = (
    ("ReadWriteOnce", "RWO"),
    ("ReadOnlyMany", "ROX"),
    ("ReadWriteMany", "RWX"),
    ("ReadWriteOncePod", "RWOP"),
)


def _modes(modes: Sequence[str] | None) -> str:
    return ",".join(short for long, short in _MODES if long in (modes or ()))


def _phase(obj: Object) -> str:
    return "Terminating" if is_deleting(obj) else str((obj.get("status") or {}).get("phase", ""))


def _class_name(obj: Object) -> str:
    annotations = (obj.get("metadata") or {}).get("annotations") or {}
    if _CLASS_ANNOTATION in annotations:
        return str(annotations[_CLASS_ANNOTATION])
    return str((obj.get("spec") or {}).get("storageClassName") or "")


def _fill_volume(obj: Object, now: float) -> Cells:
    spec, status = obj.get("spec") or {}, obj.get("status") or {}
    claim = spec.get("claimRef")
    return [
        name_of(obj),
        str((spec.get("capacity") or {}).get("storage", "0")),
        _modes(spec.get("accessModes")),
        spec.get("persistentVolumeReclaimPolicy", ""),
        _phase(obj),
        f"{claim.get('namespace', '')}/{claim.get('name', '')}" if claim else "",
        _class_name(obj),
        spec.get("volumeAttributesClassName") or UNSET,
        status.get("reason", ""),
        age(obj, now),
        spec.get("volumeMode") or UNSET,
    ]


def _fill_claim(obj: Object, now: float) -> Cells:
    spec, status = obj.get("spec") or {}, obj.get("status") or {}
    capacity, modes = "", ""
    if spec.get("volumeName"):
        capacity = str((status.get("capacity") or {}).get("storage", "0"))
        modes = _modes(status.get("accessModes"))
    return [
        name_of(obj),
        _phase(obj),
        spec.get("volumeName", ""),
        capacity,
        modes,
        _class_name(obj),
        spec.get("volumeAttributesClassName") or UNSET,
        age(obj, now),
        spec.get("volumeMode") or UNSET,
    ]


def _fill_storage_class(obj: Object, now: float) -> Cells:
    annotations = (obj.get("metadata") or {}).get("annotations") or {}
    default = any(annotations.get(key) == "true" for key in _DEFAULT_ANNOTATIONS)
    return [
        f"{name_of(obj)} (default)" if default else name_of(obj),
        obj.get("provisioner", ""),
        obj.get("reclaimPolicy") or "Delete",
        obj.get("volumeBindingMode") or "Immediate",
        bool(obj.get("allowVolumeExpansion")),
        age(obj, now),
    ]


def _fill_attributes_class(obj: Object, now: float) -> Cells:
    return [name_of(obj), obj.get("driverName", ""), age(obj, now)]


def _fill_attachment(obj: Object, now: float) -> Cells:
    spec = obj.get("spec") or {}
    return [
        name_of(obj),
        spec.get("attacher", ""),
        (spec.get("source") or {}).get("persistentVolumeName") or "",
        spec.get("nodeName", ""),
        bool((obj.get("status") or {}).get("attached")),
        age(obj, now),
    ]


def _fill_csi_driver(obj: Object, now: float) -> Cells:
    spec = obj.get("spec") or {}
    tokens = [token.get("audience", "") for token in spec.get("tokenRequests") or ()]
    modes = ",".join(spec.get("volumeLifecycleModes") or ()) or "<none>"
    return [
        name_of(obj),
        spec.get("attachRequired", True) is not False,
        bool(spec.get("podInfoOnMount")),
        bool(spec.get("storageCapacity")),
        ",".join(tokens) if tokens else UNSET,
        bool(spec.get("requiresRepublish")),
        modes,
        age(obj, now),
    ]


def _fill_csi_node(obj: Object, now: float) -> Cells:
    return [name_of(obj), len((obj.get("spec") or {}).get("drivers") or ()), age(obj, now)]


def _fill_capacity(obj: Object, _: float) -> Cells:
    capacity = obj.get("capacity")
    text = UNSET if capacity is None else str(capacity)
    return [name_of(obj), obj.get("storageClassName", ""), text]


PRINTERS: dict[tuple[str, str], Printer] = {
    ("", "PersistentVolume"): Printer(
        columns(
            "Name", "Capacity", "Access Modes", "Reclaim Policy", "Status", "Claim",
            "StorageClass", "VolumeAttributesClass", "Reason", "Age", "VolumeMode*",
        ),
        _fill_volume,
    ),
    ("", "PersistentVolumeClaim"): Printer(
        columns(
            "Name", "Status", "Volume", "Capacity", "Access Modes", "StorageClass",
            "VolumeAttributesClass", "Age", "VolumeMode*",
        ),
        _fill_claim,
    ),
    ("storage.k8s.io", "StorageClass"): Printer(
        columns(
            "Name", "Provisioner", "ReclaimPolicy", "VolumeBindingMode", "AllowVolumeExpansion",
            "Age",
        ),
        _fill_storage_class,
    ),
    ("storage.k8s.io", "VolumeAttributesClass"): Printer(
        columns("Name", "DriverName", "Age"), _fill_attributes_class
    ),
    ("storage.k8s.io", "VolumeAttachment"): Printer(
        columns("Name", "Attacher:string:name", "PV", "Node", "Attached:boolean", "Age"),
        _fill_attachment,
    ),
    ("storage.k8s.io", "CSIDriver"): Printer(
        columns(
            "Name", "AttachRequired:boolean", "PodInfoOnMount:boolean", "StorageCapacity:boolean",
            "TokenRequests", "RequiresRepublish:boolean", "Modes", "Age",
        ),
        _fill_csi_driver,
    ),
    ("storage.k8s.io", "CSINode"): Printer(
        columns("Name", "Drivers:integer", "Age"), _fill_csi_node
    ),
    ("storage.k8s.io", "CSIStorageCapacity"): Printer(
        columns("Name", "StorageClassName", "Capacity"), _fill_capacity
    ),
}  # fmt: skip
