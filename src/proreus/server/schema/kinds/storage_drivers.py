"""What storage drivers say about themselves, about nodes, and about volumes they attach."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from proreus.api.field_error import FieldError
from proreus.api.values import names, quantity
from proreus.server.schema.kinds.findings import IMMUTABLE, NOT_NEGATIVE, Findings, items
from proreus.server.schema.kinds.label_selectors import check_selector
from proreus.server.schema.kinds.volumes import check_driver
from proreus.server.schema.rules import JsonObject, Rules

Json = Mapping[str, Any]
_GROUP_POLICIES = ("File", "None", "ReadWriteOnceWithFSType")
_LIFECYCLES = ("Persistent", "Ephemeral")
_TOKEN_MIN_S, _TOKEN_MAX_S = 600, 1 << 32
_UPDATE_PERIOD_MIN_S = 10
_NODE_ID_MAX = 192
_ONE_SOURCE = "must specify exactly one of inlineVolumeSpec and persistentVolumeName"


# --- drivers


def _default_driver(obj: JsonObject) -> None:
    spec = obj["spec"]
    spec.setdefault("attachRequired", True)
    spec.setdefault("podInfoOnMount", False)
    spec.setdefault("storageCapacity", False)
    spec.setdefault("fsGroupPolicy", "ReadWriteOnceWithFSType")
    if not spec.get("volumeLifecycleModes"):
        spec["volumeLifecycleModes"] = ["Persistent"]
    spec.setdefault("requiresRepublish", False)
    spec.setdefault("seLinuxMount", False)


def _validate_driver(obj: JsonObject) -> list[FieldError]:
    found, spec = Findings(), obj["spec"]
    found.one_of("spec.fsGroupPolicy", spec.get("fsGroupPolicy"), _GROUP_POLICIES)
    _check_token_requests(found, spec.get("tokenRequests"))
    for mode in spec.get("volumeLifecycleModes") or ():
        found.one_of("spec.volumeLifecycleModes", mode, _LIFECYCLES)
    period = spec.get("nodeAllocatableUpdatePeriodSeconds")
    if period is not None and period < _UPDATE_PERIOD_MIN_S:
        why = f"must be greater than or equal to {_UPDATE_PERIOD_MIN_S} seconds"
        found.invalid("spec.nodeAllocatableUpdatePeriodSeconds", period, why)
    return found


def _check_token_requests(found: Findings, requests: list[Json] | None) -> None:
    seen: set[str] = set()
    for where, request in items(requests, "spec.tokenRequests"):
        audience, seconds = request.get("audience") or "", request.get("expirationSeconds")
        if audience in seen:
            found.duplicate(f"{where}.audience", audience)
            continue
        seen.add(audience)
        at = f"{where}.expirationSeconds"
        if seconds is not None and seconds < _TOKEN_MIN_S:
            found.invalid(at, seconds, "may not specify a duration less than 10 minutes")
        if seconds is not None and seconds > _TOKEN_MAX_S:
            found.invalid(at, seconds, "may not specify a duration larger than 2^32 seconds")


def _driver_update(new: JsonObject, old: JsonObject) -> list[FieldError]:
    found = Findings(_validate_driver(new))
    # The first is spelled like this only here.
    for key, shown in (
        ("attachRequired", "attachedRequired"),
        ("fsGroupPolicy", "fsGroupPolicy"),
        ("volumeLifecycleModes", "volumeLifecycleModes"),
    ):
        found.immutable(f"spec.{shown}", new["spec"].get(key), old["spec"].get(key))
    return found


CSI_DRIVER = Rules(
    default=_default_driver, validate=_validate_driver, validate_update=_driver_update
)


# --- nodes


def _validate_node(obj: JsonObject) -> list[FieldError]:
    found = Findings()
    seen: set[str] = set()
    for where, driver in items(obj["spec"].get("drivers"), "spec.drivers"):
        name, node_id = driver.get("name") or "", driver.get("nodeID") or ""
        check_driver(found, f"{where}.name", name)
        found.require(f"{where}.nodeID", node_id)
        if len(node_id) > _NODE_ID_MAX:
            found.invalid(f"{where}.nodeID", node_id, f"must be {_NODE_ID_MAX} characters or less")
        found.not_negative(
            f"{where}.allocatable.count", (driver.get("allocatable") or {}).get("count")
        )
        if name in seen:
            found.duplicate(f"{where}.name", name)
        seen.add(name)
        _check_topology_keys(found, where, driver.get("topologyKeys") or [])
    return found


def _check_topology_keys(found: Findings, at: str, keys: list[str]) -> None:
    seen: set[str] = set()
    for key in keys:
        found.require(at, key)
        if key in seen:
            found.duplicate(at, key)
        seen.add(key)
        for why in names.qualified_name(key):
            found.invalid(at, keys, why)


CSI_NODE = Rules(validate=_validate_node, validate_update=lambda new, _: _validate_node(new))


# --- capacities


def _validate_capacity(obj: JsonObject) -> list[FieldError]:
    found = Findings()
    check_selector(found, "nodeTopology", obj.get("nodeTopology"))
    found.name("storageClassName", obj.get("storageClassName") or "")
    for key in ("capacity", "maximumVolumeSize"):
        if obj.get(key) is not None and quantity.amount(obj[key]) < 0:
            found.invalid(key, obj[key], NOT_NEGATIVE)
    return found


def _capacity_update(new: JsonObject, old: JsonObject) -> list[FieldError]:
    found = Findings(_validate_capacity(new))
    for key in ("nodeTopology", "storageClassName"):
        found.immutable(key, new.get(key), old.get(key))
    return found


CSI_STORAGE_CAPACITY = Rules(validate=_validate_capacity, validate_update=_capacity_update)


# --- attachments


def _validate_attachment(obj: JsonObject) -> list[FieldError]:
    found, spec = Findings(), obj["spec"]
    attacher, source = spec.get("attacher") or "", spec.get("source") or {}
    volume = source.get("persistentVolumeName")
    found.require("spec.attacher", attacher)
    if volume is not None and source.get("inlineVolumeSpec") is not None:
        found.forbid("spec.source", _ONE_SOURCE)
    elif volume is None and source.get("inlineVolumeSpec") is None:
        found.require("spec.source", None, _ONE_SOURCE)
    elif volume == "":
        why = "must specify non empty persistentVolumeName"
        found.require("spec.source.persistentVolumeName", None, why)
    found.name("spec.nodeName", spec.get("nodeName") or "")
    check_driver(found, "spec.attacher", attacher)
    found.name("spec.source.persistentVolumeName", volume)
    return found


def _attachment_update(new: JsonObject, old: JsonObject) -> list[FieldError]:
    found = Findings()
    if new["spec"] != old["spec"]:
        found.invalid("spec", new["spec"], IMMUTABLE)
    return found


VOLUME_ATTACHMENT = Rules(validate=_validate_attachment, validate_update=_attachment_update)
