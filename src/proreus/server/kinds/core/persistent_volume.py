"""PersistentVolume: storage of the cluster that a claim can bind to."""

from __future__ import annotations

from collections.abc import Iterator
from copy import deepcopy
from math import floor
from posixpath import normpath
from typing import Any

from proreus.api import field_error
from proreus.api.field_error import FieldError
from proreus.api.json_types import Json, JsonObject
from proreus.api.values import names, quantity
from proreus.api.values.timestamp import format_time
from proreus.server.kinds.parts.cells import UNSET, age, name_of
from proreus.server.kinds.parts.claims import VOLUME_MODES, check_access_modes
from proreus.server.kinds.parts.findings import Findings
from proreus.server.kinds.parts.label_selectors import check_node_selector
from proreus.server.kinds.parts.node_labels import current_label
from proreus.server.kinds.parts.pod_template.mounts import check_no_backsteps
from proreus.server.kinds.parts.pod_template.scheduling import internal_term
from proreus.server.kinds.parts.pod_template.volume_defaults import default_volume_source
from proreus.server.kinds.parts.pod_template.volume_sources import ISCSI_NAME, is_initiator
from proreus.server.kinds.parts.pod_template.volume_warnings import persistent_volume_warnings
from proreus.server.kinds.parts.pod_template.volumes import (
    SOURCE_CHECKS,
    TOO_MANY,
    check_driver,
    in_order_of_checks,
)
from proreus.server.kinds.parts.volume_cells import access_modes, class_name, phase
from proreus.server.resource import Cells, Lifecycle, Names, Printer, Resource, Rules

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
_CSI_SECRETS = ("controllerPublishSecretRef", "controllerExpandSecretRef", "nodePublishSecretRef",
                "nodeExpandSecretRef")  # fmt: skip


def _default(obj: JsonObject) -> None:
    spec = obj["spec"]
    spec.setdefault("persistentVolumeReclaimPolicy", "Retain")
    spec.setdefault("volumeMode", "Filesystem")
    default_volume_source(spec)
    obj.setdefault("status", {}).setdefault("phase", "Pending")


def _prepare(obj: JsonObject) -> None:
    created = obj["metadata"].get("creationTimestamp") or format_time(0)
    obj["status"] = {"phase": "Pending", "lastPhaseTransitionTime": created}


def _sources(spec: Json) -> Iterator[str]:
    return (key for key in spec if key not in _PV_OTHER and spec[key] is not None)


def _validate(obj: JsonObject) -> list[FieldError]:
    found, spec = Findings(), obj["spec"]
    modes = spec.get("accessModes") or []
    found.require("spec.accessModes", modes)
    check_access_modes(found, "spec.accessModes", modes)
    _check_capacity(found, spec.get("capacity") or {})
    policy = spec.get("persistentVolumeReclaimPolicy")
    found.one_of("spec.persistentVolumeReclaimPolicy", policy, ("Delete", "Recycle", "Retain"))
    _check_affinity(found, spec)
    _check_source(found, spec, obj["metadata"].get("name") or "")
    host_path = (spec.get("hostPath") or {}).get("path") or ""
    is_root = host_path.startswith("/") and normpath(f"/{host_path.lstrip('/')}") == "/"
    if policy == "Recycle" and is_root:
        found.forbid(
            "spec.persistentVolumeReclaimPolicy", "may not be 'recycle' for a hostPath mount of '/'"
        )
    if spec.get("storageClassName"):
        found.name("spec.storageClassName", spec["storageClassName"])
    found.one_of("spec.volumeMode", spec.get("volumeMode"), VOLUME_MODES)
    if (name := spec.get("volumeAttributesClassName")) is not None:
        at = "spec.volumeAttributesClassName"
        if found.require(at, name, "an empty string is disallowed"):
            found.name(at, name)
        if spec.get("csi") is None:
            why = "has to be specified when using volumeAttributesClassName"
            found.require("spec.csi", None, why)
    return found


def _check_capacity(found: Findings, capacity: Json) -> None:
    found.require("spec.capacity", capacity)
    if "storage" not in capacity or len(capacity) > 1:
        printed = dict(sorted(capacity.items())) or None
        found.append(field_error.not_supported("spec.capacity", printed, ("storage",)))
    for name in sorted(capacity):
        if (value := floor(quantity.amount(capacity[name]))) < 0:
            why = "must be a valid resource quantity"
            found.invalid(f"spec.capacity[{name}]", value, why)
        if quantity.amount(capacity[name]) <= 0:
            found.invalid(f"spec.capacity[{name}]", capacity[name], "must be greater than zero")


def _check_affinity(found: Findings, spec: Json) -> None:
    if (affinity := spec.get("nodeAffinity")) is None:
        return
    if (required := affinity.get("required")) is None:
        found.require("spec.nodeAffinity.required", None, "must specify required node constraints")
    else:
        check_node_selector(found, "spec.nodeAffinity.required", required)


def _check_source(found: Findings, spec: Json, name: str) -> None:
    given = in_order_of_checks(_sources(spec), _ORDER)
    if not given:
        found.require("spec", None, "must specify a volume type")
        return
    _check_first_source(found, spec, given[0], name)
    for key in given[1:]:
        found.forbid(f"spec.{'cephFS' if key == 'cephfs' else key}", TOO_MANY)


def _check_first_source(found: Findings, spec: Json, kind: str, name: str) -> None:
    source = spec[kind]
    match kind:
        case "local":
            if found.require("spec.local.path", source.get("path")):
                check_no_backsteps(found, "spec.local.path", source["path"])
            if spec.get("nodeAffinity") is None:
                found.require("spec.nodeAffinity", None, "Local volume requires node affinity")
        case "csi":
            check_driver(found, "spec.csi.driver", source.get("driver") or "")
            found.require("spec.csi.volumeHandle", source.get("volumeHandle"))
            for key in _CSI_SECRETS:
                if (reference := source.get(key)) is not None:
                    _check_secret(found, f"spec.csi.{key}", reference)
        case "iscsi":
            _check_iscsi(found, "spec.iscsi", source, name)
        case "glusterfs" | "azureFile" | "cinder" | "storageos":
            SOURCE_CHECKS[kind](found, f"spec.{kind}", source)
            _check_namespaces(found, f"spec.{kind}", source)
        case _ if kind in SOURCE_CHECKS:
            SOURCE_CHECKS[kind](found, f"spec.{kind}", source)


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


def _validate_update(new: JsonObject, old: JsonObject) -> list[FieldError]:
    found = Findings(_validate(new))
    spec, before = new["spec"], old["spec"]
    sources = {key: spec[key] for key in _sources(spec)}
    csi, had_csi = sources.get("csi"), before.get("csi")
    if csi and had_csi and "controllerExpandSecretRef" not in had_csi:
        sources["csi"] = {k: v for k, v in csi.items() if k != "controllerExpandSecretRef"}
    if sources != {key: before[key] for key in _sources(before)}:
        found.forbid(
            "spec.persistentvolumesource", "spec.persistentvolumesource is immutable after creation"
        )
    found.unchanged(spec, before, "volumeMode")
    affinity, was = spec.get("nodeAffinity"), before.get("nodeAffinity")
    if was is not None and affinity != was and _with_new_labels(was) != affinity:
        why = "field is immutable, except for updating from beta label to GA"
        found.invalid("nodeAffinity", _internal_affinity(affinity), why)
    had = before.get("volumeAttributesClassName")
    if had is not None and spec.get("volumeAttributesClassName") is None:
        why = "update from non-nil value to nil is forbidden"
        found.forbid("spec.volumeAttributesClassName", why)
    return found


def _with_new_labels(affinity: Json) -> Json:
    """The affinity with deprecated node labels replaced by their current names."""
    found = deepcopy(dict(affinity))
    for term in (found.get("required") or {}).get("nodeSelectorTerms") or ():
        for expression in term.get("matchExpressions") or ():
            expression["key"] = current_label(expression.get("key") or "")
    return found


def _internal_affinity(affinity: Json | None) -> dict[str, Any] | None:
    """As Kubernetes prints its internal form."""
    if affinity is None:
        return None
    terms = (affinity.get("required") or {}).get("nodeSelectorTerms") or []
    return {"Required": {"NodeSelectorTerms": [internal_term(term) for term in terms]}}


def _fill(obj: Json, now: float) -> Cells:
    spec, status = obj.get("spec") or {}, obj.get("status") or {}
    claim = spec.get("claimRef")
    return [
        name_of(obj),
        str((spec.get("capacity") or {}).get("storage", "0")),
        access_modes(spec.get("accessModes")),
        spec.get("persistentVolumeReclaimPolicy", ""),
        phase(obj),
        f"{claim.get('namespace', '')}/{claim.get('name', '')}" if claim else "",
        class_name(obj),
        spec.get("volumeAttributesClassName") or UNSET,
        status.get("reason", ""),
        age(obj, now),
        spec.get("volumeMode") or UNSET,
    ]


_PRINTER = Printer.of(
    _fill, "Name", "Capacity", "Access Modes", "Reclaim Policy", "Status", "Claim",
    "StorageClass", "VolumeAttributesClass", "Reason", "Age", "VolumeMode*",
)  # fmt: skip


RESOURCES = (
    Resource(
        names=Names.of("", "v1", "PersistentVolume", "persistentvolumes", "pv"),
        namespaced=False,
        has_status=True,
        lifecycle=Lifecycle(returns_deleted=True),
        rules=Rules(
            default=_default,
            prepare_create=_prepare,
            validate=_validate,
            validate_update=_validate_update,
            warnings=persistent_volume_warnings,
        ),
        printer=_PRINTER,
    ),
)
