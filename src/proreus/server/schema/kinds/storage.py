"""Persistent volumes, claims, storage classes and volume attributes classes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from proreus.api.field_error import FieldError
from proreus.api.values import names, quantity
from proreus.api.values.timestamp import format_time
from proreus.server.schema.kinds.claims import VOLUME_MODES, check_access_modes, check_claim_spec
from proreus.server.schema.kinds.findings import Findings, items
from proreus.server.schema.kinds.label_selectors import check_node_selector
from proreus.server.schema.kinds.mounts import check_no_backsteps
from proreus.server.schema.kinds.volume_defaults import default_volume_source
from proreus.server.schema.kinds.volume_warnings import claim_warnings, persistent_volume_warnings
from proreus.server.schema.kinds.volumes import (
    SOURCE_CHECKS,
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
    return found


def _check_capacity(found: Findings, capacity: Json) -> None:
    if not found.require("spec.capacity", capacity):
        return
    if "storage" not in capacity or len(capacity) > 1:
        for name in sorted(capacity):
            found.one_of("spec.capacity", name, ("storage",))
    for name in sorted(capacity):
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
    given = in_order_of_checks(_sources(spec))
    if not given:
        found.require("spec", None, "must specify a volume type")
        return
    _check_first_source(found, spec, given[0])
    for key in given[1:]:
        found.forbid(f"spec.{key}", "may not specify more than 1 volume type")


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
        case _ if kind in SOURCE_CHECKS:
            SOURCE_CHECKS[kind](found, f"spec.{kind}", source)


def _volume_update(new: JsonObject, old: JsonObject) -> list[FieldError]:
    found = Findings(_validate_volume(new))
    spec, before = new["spec"], old["spec"]
    if {key: spec[key] for key in _sources(spec)} != {key: before[key] for key in _sources(before)}:
        found.forbid(
            "spec.persistentvolumesource", "spec.persistentvolumesource is immutable after creation"
        )
    found.immutable("volumeMode", spec.get("volumeMode"), before.get("volumeMode"))
    if before.get("nodeAffinity") is not None:
        found.immutable("nodeAffinity", spec.get("nodeAffinity"), before["nodeAffinity"])
    return found


PERSISTENT_VOLUME = Rules(
    default=_default_volume,
    prepare_create=_prepare_volume,
    validate=_validate_volume,
    validate_update=_volume_update,
    warnings=persistent_volume_warnings,
)


# --- claims


def _default_claim(obj: JsonObject) -> None:
    obj["spec"].setdefault("volumeMode", "Filesystem")
    obj.setdefault("status", {}).setdefault("phase", "Pending")


def _prepare_claim(obj: JsonObject) -> None:
    obj["status"] = {"phase": "Pending"}
    _add_finalizer(obj, "kubernetes.io/pvc-protection")
    spec = obj["spec"]
    source, reference = spec.get("dataSource"), spec.get("dataSourceRef")
    if source is not None and not _is_known_source(source):
        spec.pop("dataSource")
        source = None
    # The two fields are the old and the new name of one thing, unless a namespace is given.
    if source is not None and reference is None:
        spec["dataSourceRef"] = dict(source)
    elif reference is not None and source is None and not reference.get("namespace"):
        spec["dataSource"] = dict(reference)


def _is_known_source(source: Json) -> bool:
    pair = (source.get("apiGroup") or "", source.get("kind"))
    return pair in (
        ("", "PersistentVolumeClaim"),
        ("snapshot.storage.k8s.io", "VolumeSnapshot"),
    )


def _validate_claim(obj: JsonObject) -> list[FieldError]:
    found = Findings()
    check_claim_spec(found, "spec", obj["spec"])
    return found


_CLAIM_FIXED = (
    "spec is immutable after creation except resources.requests and volumeAttributesClassName for "
    "bound claims"
)


def _claim_update(new: JsonObject, old: JsonObject) -> list[FieldError]:
    found = Findings(_validate_claim(new))
    spec, before = new["spec"], old["spec"]
    bound = (old.get("status") or {}).get("phase") == "Bound"
    changeable = {"resources", "volumeAttributesClassName"} if bound else set()
    if not before.get("volumeName"):
        changeable.add("volumeName")
    if _fixed(spec, changeable) != _fixed(before, changeable):
        found.forbid("spec", _CLAIM_FIXED)
    wanted = (spec.get("resources") or {}).get("requests") or {}
    had = (before.get("resources") or {}).get("requests") or {}
    if bound and quantity.amount(wanted.get("storage")) < quantity.amount(had.get("storage")):
        capacity = ((old.get("status") or {}).get("capacity") or {}).get("storage")
        if quantity.amount(wanted.get("storage")) <= quantity.amount(capacity):
            found.forbid(
                "spec.resources.requests.storage", "field can not be less than status.capacity"
            )
    return found


def _fixed(spec: Json, changeable: set[str]) -> dict[str, Any]:
    return {key: value for key, value in spec.items() if key not in changeable}


PERSISTENT_VOLUME_CLAIM = Rules(
    default=_default_claim,
    prepare_create=_prepare_claim,
    validate=_validate_claim,
    validate_update=_claim_update,
    warnings=claim_warnings,
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
