"""The spec of persistent volumes, also inside attachments of volumes that are no objects."""

from __future__ import annotations

from collections.abc import Iterator
from math import floor
from posixpath import normpath

from proreus.api import field_error
from proreus.api.json_types import Json
from proreus.api.values import names, quantity
from proreus.server.kinds.parts.claims import VOLUME_MODES, check_access_modes
from proreus.server.kinds.parts.findings import Findings
from proreus.server.kinds.parts.label_selectors import check_node_selector
from proreus.server.kinds.parts.pod_template.mounts import check_no_backsteps
from proreus.server.kinds.parts.pod_template.volume_sources import ISCSI_NAME, is_initiator
from proreus.server.kinds.parts.pod_template.volumes import (
    SOURCE_CHECKS,
    TOO_MANY,
    check_driver,
    in_order_of_checks,
)

_PV_OTHER = frozenset(
    {"accessModes", "capacity", "claimRef", "mountOptions", "nodeAffinity",
     "persistentVolumeReclaimPolicy", "storageClassName", "volumeAttributesClassName",
     "volumeMode"}
)  # fmt: skip
_ORDER = {key: index for index, key in enumerate((
    "hostPath", "gcePersistentDisk", "awsElasticBlockStore", "glusterfs", "flocker", "nfs", "rbd",
    "quobyte", "cephfs", "iscsi", "cinder", "fc", "flexVolume", "azureFile", "vsphereVolume",
    "photonPersistentDisk", "portworxVolume", "azureDisk", "scaleIO", "local", "storageos", "csi",
))}  # fmt: skip
_ISCSI_NAME_MAX = 64
_NOT_INLINE = "may not be specified in the context of inline volumes"
_CSI_SECRETS = ("controllerPublishSecretRef", "controllerExpandSecretRef", "nodePublishSecretRef",
                "nodeExpandSecretRef")  # fmt: skip


def sources_of(spec: Json) -> Iterator[str]:
    return (key for key in spec if key not in _PV_OTHER and spec[key] is not None)


def check_volume_spec(found: Findings, at: str, spec: Json, name: str) -> None:
    """Of the volume ``name``."""
    modes = spec.get("accessModes") or []
    found.require(f"{at}.accessModes", modes)
    check_access_modes(found, f"{at}.accessModes", modes)
    _check_capacity(found, f"{at}.capacity", spec.get("capacity"))
    policy = spec.get("persistentVolumeReclaimPolicy")
    at_policy = f"{at}.persistentVolumeReclaimPolicy"
    found.one_of(at_policy, policy, ("Delete", "Recycle", "Retain"))
    _check_affinity(found, at, spec)
    _check_source(found, at, spec, name)
    _check_recycling(found, at_policy, spec)
    if spec.get("storageClassName"):
        found.name(f"{at}.storageClassName", spec["storageClassName"])
    found.one_of(f"{at}.volumeMode", spec.get("volumeMode"), VOLUME_MODES)
    _check_attributes(found, at, spec)


def check_inline_spec(found: Findings, at: str, spec: Json) -> None:
    """Of a volume that a pod names in its own spec: only what a driver needs to attach it."""
    for key in ("claimRef", "capacity"):
        if spec.get(key) is not None and (key == "claimRef" or spec[key]):
            found.forbid(f"{at}.{key}", _NOT_INLINE)
    if spec.get("csi") is None:
        why = "has to be specified in the context of inline volumes"
        found.require(f"{at}.csi", None, why)
    modes = spec.get("accessModes") or []
    found.require(f"{at}.accessModes", modes)
    check_access_modes(found, f"{at}.accessModes", modes)
    if spec.get("persistentVolumeReclaimPolicy") not in (None, "Retain"):
        why = "may only be Retain in the context of inline volumes"
        found.forbid(f"{at}.persistentVolumeReclaimPolicy", why)
    if spec.get("nodeAffinity") is not None:
        found.forbid(f"{at}.nodeAffinity", _NOT_INLINE)
    _check_source(found, at, spec, "")
    _check_recycling(found, f"{at}.persistentVolumeReclaimPolicy", spec)
    if spec.get("storageClassName"):
        found.forbid(f"{at}.storageClassName", _NOT_INLINE)
    if spec.get("volumeMode") not in (None, "Filesystem"):
        why = "may not specify volumeMode other than Filesystem in the context of inline volumes"
        found.forbid(f"{at}.volumeMode", why)


def _check_recycling(found: Findings, at: str, spec: Json) -> None:
    host_path = (spec.get("hostPath") or {}).get("path") or ""
    is_root = host_path.startswith("/") and normpath(f"/{host_path.lstrip('/')}") == "/"
    if spec.get("persistentVolumeReclaimPolicy") == "Recycle" and is_root:
        found.forbid(at, "may not be 'recycle' for a hostPath mount of '/'")


def _check_attributes(found: Findings, at: str, spec: Json) -> None:
    if (name := spec.get("volumeAttributesClassName")) is None:
        return
    where = f"{at}.volumeAttributesClassName"
    if found.require(where, name, "an empty string is disallowed"):
        found.name(where, name)
    if spec.get("csi") is None:
        why = "has to be specified when using volumeAttributesClassName"
        found.require(f"{at}.csi", None, why)


def _check_capacity(found: Findings, at: str, given: Json | None) -> None:
    capacity = given or {}
    found.require(at, capacity)
    if "storage" not in capacity or len(capacity) > 1:
        found.append(field_error.not_supported(at, field_error.sorted_keys(given), ("storage",)))
    for name in sorted(capacity):
        if (value := floor(quantity.amount(capacity[name]))) < 0:
            why = "must be a valid resource quantity"
            found.invalid(f"{at}[{name}]", value, why)
        if quantity.amount(capacity[name]) <= 0:
            found.invalid(f"{at}[{name}]", capacity[name], "must be greater than zero")


def _check_affinity(found: Findings, at: str, spec: Json) -> None:
    if (affinity := spec.get("nodeAffinity")) is None:
        return
    if (required := affinity.get("required")) is None:
        found.require(f"{at}.nodeAffinity.required", None, "must specify required node constraints")
    else:
        check_node_selector(found, f"{at}.nodeAffinity.required", required)


def _check_source(found: Findings, at: str, spec: Json, name: str) -> None:
    given = in_order_of_checks(sources_of(spec), _ORDER)
    if not given:
        found.require(at, None, "must specify a volume type")
        return
    _check_one_source(found, at, spec, given[0], name)
    for key in given[1:]:
        if key == "flexVolume":  # Kubernetes never counts it as one too many
            _check_one_source(found, at, spec, key, name)
        else:
            found.forbid(f"{at}.{'cephFS' if key == 'cephfs' else key}", TOO_MANY)


def _check_one_source(found: Findings, at: str, spec: Json, kind: str, name: str) -> None:
    source = spec[kind]
    match kind:
        case "local":
            if found.require(f"{at}.local.path", source.get("path")):
                check_no_backsteps(found, f"{at}.local.path", source["path"])
            if spec.get("nodeAffinity") is None:
                found.require(f"{at}.nodeAffinity", None, "Local volume requires node affinity")
        case "csi":
            check_driver(found, f"{at}.csi.driver", source.get("driver") or "")
            found.require(f"{at}.csi.volumeHandle", source.get("volumeHandle"))
            for key in _CSI_SECRETS:
                if (reference := source.get(key)) is not None:
                    _check_secret(found, f"{at}.csi.{key}", reference)
        case "iscsi":
            _check_iscsi(found, f"{at}.iscsi", source, name)
        case "glusterfs" | "azureFile" | "cinder" | "storageos":
            SOURCE_CHECKS[kind](found, f"{at}.{kind}", source)
            _check_namespaces(found, f"{at}.{kind}", source)
        case _ if kind in SOURCE_CHECKS:
            SOURCE_CHECKS[kind](found, f"{at}.{kind}", source)


def _check_iscsi(found: Findings, at: str, source: Json, name: str) -> None:
    """As a pod's volume, in fewer words."""
    portal, initiator = source.get("targetPortal") or "", source.get("initiatorName")
    found.require(f"{at}.targetPortal", portal)
    if initiator is not None and len(f"{name}:{portal}".encode()) > _ISCSI_NAME_MAX:
        found.invalid(f"{at}.targetportal", portal, ISCSI_NAME)
    if found.require(f"{at}.iqn", source.get("iqn")) and not is_initiator(source["iqn"]):
        found.invalid(f"{at}.iqn", source["iqn"], "must be valid format")
    found.between(f"{at}.lun", source.get("lun") or 0, 0, 255)
    secret = source.get("secretRef")
    if secret is None and (source.get("chapAuthDiscovery") or source.get("chapAuthSession")):
        found.require(f"{at}.secretRef", None)
    if secret is not None:
        found.require(f"{at}.secretRef.name", secret.get("name"))
    if initiator is not None and not is_initiator(initiator):
        found.invalid(f"{at}.initiatorname", initiator, "must be valid format")


def _check_secret(found: Findings, at: str, reference: Json) -> None:
    found.required_name(f"{at}.name", reference.get("name"))
    found.required_name(f"{at}.namespace", reference.get("namespace"), names.dns_label)


def _check_namespaces(found: Findings, at: str, source: Json) -> None:
    """A volume has no namespace, so references to secrets must name theirs."""
    if (namespace := source.get("endpointsNamespace")) is not None:
        if not namespace:
            why = "if the endpointnamespace is set, it must be a valid namespace name"
            found.invalid(f"{at}.endpointsNamespace", namespace, why)
        else:
            found.name(f"{at}.endpointsNamespace", namespace, names.dns_label)
    if "secretNamespace" in source:
        found.require(f"{at}.secretNamespace", source["secretNamespace"])
    if (reference := source.get("secretRef")) is not None:
        found.require(f"{at}.secretRef.namespace", reference.get("namespace"))
