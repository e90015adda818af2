"""Persistent volumes, claims, storage classes and volume attributes classes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from copy import deepcopy
from math import floor
from typing import Any

from proreus.api import field_error
from proreus.api.field_error import FieldError
from proreus.api.values import names, quantity
from proreus.api.values.timestamp import format_time
from proreus.server.schema.kinds.claims import VOLUME_MODES, check_access_modes
from proreus.server.schema.kinds.findings import Findings, items
from proreus.server.schema.kinds.label_selectors import check_node_selector
from proreus.server.schema.kinds.mounts import check_no_backsteps
from proreus.server.schema.kinds.node_labels import current_label
from proreus.server.schema.kinds.pod_updates import internal_term
from proreus.server.schema.kinds.volume_defaults import default_volume_source
from proreus.server.schema.kinds.volume_warnings import persistent_volume_warnings
from proreus.server.schema.kinds.volumes import (
    SOURCE_CHECKS,
    TOO_MANY,
    check_driver,
    in_order_of_checks,
)
from proreus.server.schema.rules import JsonObject, Rules

Json = Mapping[str, Any]
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
_CSI_SECRETS = ("controllerPublishSecretRef", "controllerExpandSecretRef", "nodePublishSecretRef",
                "nodeExpandSecretRef")  # fmt: skip


def _add_finalizer(obj: JsonObject, name: str) -> None:
    """Storage that is in use must not vanish: a controller takes this off when it may."""
    finalizers = obj["metadata"].setdefault("finalizers", [])
    if name not in finalizers:
        finalizers.append(name)


# --- persistent volumes


def _default_volume(obj: JsonObject) -> None:
    spec = obj["spec"]
    spec.setdefault("persistentVolumeReclaimPolicy", "Retain")
    spec.setdefault("volumeMode", "Filesystem")
    default_volume_source(spec)
    obj.setdefault("status", {}).setdefault("phase", "Pending")


def _prepare_volume(obj: JsonObject) -> None:
    _add_finalizer(obj, "kubernetes.io/pv-protection")
    created = obj["metadata"].get("creationTimestamp") or format_time(0)
    obj["status"] = {"phase": "Pending", "lastPhaseTransitionTime": created}


def _sources(spec: Json) -> Iterator[str]:
    return (key for key in spec if key not in _PV_OTHER and spec[key] is not None)


def _validate_volume(obj: JsonObject) -> list[FieldError]:
    found, spec = Findings(), obj["spec"]
    modes = spec.get("accessModes") or []
    found.require("spec.accessModes", modes)
    check_access_modes(found, "spec.accessModes", modes)
    _check_capacity(found, spec.get("capacity") or {})
    policy = spec.get("persistentVolumeReclaimPolicy")
    found.one_of("spec.persistentVolumeReclaimPolicy", policy, ("Delete", "Recycle", "Retain"))
    _check_affinity(found, spec)
    _check_source(found, spec)
    if (spec.get("hostPath") or {}).get("path") == "/" and policy == "Recycle":
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
        shown = dict(sorted(capacity.items())) or None
        found.append(field_error.not_supported("spec.capacity", shown, ("storage",)))
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


def _check_source(found: Findings, spec: Json) -> None:
    given = in_order_of_checks(_sources(spec), _ORDER)
    if not given:
        found.require("spec", None, "must specify a volume type")
        return
    _check_first_source(found, spec, given[0])
    for key in given[1:]:
        found.forbid(f"spec.{'cephFS' if key == 'cephfs' else key}", TOO_MANY)


def _check_first_source(found: Findings, spec: Json, kind: str) -> None:
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
        case "glusterfs" | "azureFile" | "cinder" | "storageos":
            SOURCE_CHECKS[kind](found, f"spec.{kind}", source)
            _check_namespaces(found, f"spec.{kind}", source)
        case _ if kind in SOURCE_CHECKS:
            SOURCE_CHECKS[kind](found, f"spec.{kind}", source)


def _check_secret(found: Findings, at: str, reference: Json) -> None:
    found.required_name(f"{at}.name", reference.get("name"))
    found.required_name(f"{at}.namespace", reference.get("namespace"), names.dns_label)


def _check_namespaces(found: Findings, at: str, source: Json) -> None:
    """A volume is in no namespace, so it has to say where its secrets are."""
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


def _volume_update(new: JsonObject, old: JsonObject) -> list[FieldError]:
    found = Findings(_validate_volume(new))
    spec, before = new["spec"], old["spec"]
    sources = {key: spec[key] for key in _sources(spec)}
    csi, had_csi = sources.get("csi"), before.get("csi")
    if csi and had_csi and "controllerExpandSecretRef" not in had_csi:
        sources["csi"] = {k: v for k, v in csi.items() if k != "controllerExpandSecretRef"}
    if sources != {key: before[key] for key in _sources(before)}:
        found.forbid(
            "spec.persistentvolumesource", "spec.persistentvolumesource is immutable after creation"
        )
    found.immutable("volumeMode", spec.get("volumeMode"), before.get("volumeMode"))
    affinity, was = spec.get("nodeAffinity"), before.get("nodeAffinity")
    if was is not None and affinity != was and _with_new_labels(was) != affinity:
        why = "field is immutable, except for updating from beta label to GA"
        found.invalid("nodeAffinity", internal_affinity(affinity), why)
    had = before.get("volumeAttributesClassName")
    if had is not None and spec.get("volumeAttributesClassName") is None:
        why = "update from non-nil value to nil is forbidden"
        found.forbid("spec.volumeAttributesClassName", why)
    return found


def _with_new_labels(affinity: Json) -> Json:
    """The affinity with labels of nodes under the names they have today."""
    found = deepcopy(dict(affinity))
    for term in (found.get("required") or {}).get("nodeSelectorTerms") or ():
        for expression in term.get("matchExpressions") or ():
            expression["key"] = current_label(expression.get("key") or "")
    return found


def internal_affinity(affinity: Json | None) -> dict[str, Any] | None:
    """As Kubernetes prints its internal form."""
    if affinity is None:
        return None
    terms = (affinity.get("required") or {}).get("nodeSelectorTerms") or []
    return {"Required": {"NodeSelectorTerms": [internal_term(term) for term in terms]}}


PERSISTENT_VOLUME = Rules(
    default=_default_volume,
    prepare_create=_prepare_volume,
    validate=_validate_volume,
    validate_update=_volume_update,
    warnings=persistent_volume_warnings,
)


# --- classes


def _default_class(obj: JsonObject) -> None:
    obj.setdefault("reclaimPolicy", "Delete")
    obj.setdefault("volumeBindingMode", "Immediate")


def _validate_class(obj: JsonObject) -> list[FieldError]:
    found = Findings()
    if found.require("provisioner", obj.get("provisioner")):
        found.name("provisioner", obj["provisioner"].lower(), names.qualified_name)
    for key in obj.get("parameters") or ():
        if not key:
            found.invalid("parameters", key, "field can not be empty.")
    found.one_of("reclaimPolicy", obj.get("reclaimPolicy"), ("Delete", "Retain"))
    found.one_of(
        "volumeBindingMode", obj.get("volumeBindingMode"), ("Immediate", "WaitForFirstConsumer")
    )
    for where, term in items(obj.get("allowedTopologies"), "allowedTopologies"):
        at = f"{where}.matchLabelExpressions"
        for place, expression in items(term.get("matchLabelExpressions"), at):
            found.require(f"{place}.values", expression.get("values"))
            found.name(f"{place}.key", expression.get("key") or "", names.qualified_name)
    return found


def _class_update(new: JsonObject, old: JsonObject) -> list[FieldError]:
    found = Findings(_validate_class(new))
    for key in ("parameters", "provisioner", "reclaimPolicy", "volumeBindingMode"):
        if new.get(key) != old.get(key):
            found.invalid(key, None, "field is immutable")  # the reference prints no value
    return found


STORAGE_CLASS = Rules(
    default=_default_class, validate=_validate_class, validate_update=_class_update
)


def _validate_attributes_class(obj: JsonObject) -> list[FieldError]:
    found = Findings()
    check_driver(found, "driverName", obj.get("driverName") or "")
    found.require("parameters", obj.get("parameters"), "must contain at least one key/value pair")
    return found


def _attributes_class_update(new: JsonObject, old: JsonObject) -> list[FieldError]:
    found = Findings()
    found.immutable("driverName", new.get("driverName"), old.get("driverName"))
    found.immutable("parameters", new.get("parameters"), old.get("parameters"))
    return found


VOLUME_ATTRIBUTES_CLASS = Rules(
    prepare_create=lambda obj: _add_finalizer(obj, "kubernetes.io/vac-protection"),
    validate=_validate_attributes_class,
    validate_update=_attributes_class_update,
)
