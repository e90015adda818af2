"""The status of a resource claim: which devices it has, who uses them, what drivers tell of them.

What Kubernetes' types declare is checked last, in ``declared``.
"""

from __future__ import annotations

from proreus.api import field_error
from proreus.api.field_error import FieldError, Reason
from proreus.api.json_types import Json, JsonObject
from proreus.api.values import names
from proreus.server.kinds.parts.conditions import check_conditions
from proreus.server.kinds.parts.devices import check_toleration
from proreus.server.kinds.parts.findings import Findings, items, repeats
from proreus.server.kinds.parts.label_selectors import check_node_selector
from proreus.server.kinds.parts.pod_template.volumes import check_driver
from proreus.server.kinds.parts.resource_claims import (
    Requests,
    check_device_config,
    check_pool_name,
    check_reference,
    check_references,
    few,
    requests_of,
)

_USERS_MAX, _RESULTS_MAX, _CONFIGS_MAX, _CONDITIONS_MAX = 256, 32, 64, 8
_SOURCES = ("FromClaim", "FromClass")


def validate_claim_status(new: JsonObject, old: JsonObject) -> list[FieldError]:
    found, declared = Findings(), Findings()
    status, before = new.get("status") or {}, old.get("status") or {}
    _check_users(found, declared, status.get("reservedFor"))
    allocation = status.get("allocation")
    _check_devices(found, declared, status.get("devices"), allocated_devices(new))
    if reserved := status.get("reservedFor"):
        _check_reserved(found, reserved, new, before)
    if allocation is not None and before.get("allocation") is not None:
        if allocation != before["allocation"]:
            declared.invalid("status.allocation", None, "field cannot be modified once set")
    elif allocation is not None:
        known = requests_of(new.get("spec") or {})
        _check_allocation(found, declared, "status.allocation", allocation, known)
    return [*found, *declared]


def allocated_devices(claim: Json) -> set[tuple[str, ...]]:
    allocation = (claim.get("status") or {}).get("allocation") or {}
    return {device_id(one) for one in (allocation.get("devices") or {}).get("results") or ()}


def device_id(device: Json) -> tuple[str, ...]:
    """The driver, the pool, the device, and the share of one that several may have."""
    parts = ("driver", "pool", "device", "shareID")
    return tuple(str(device.get(part) or "") for part in parts)


def _check_users(found: Findings, declared: Findings, users: list[Json] | None) -> None:
    at = "status.reservedFor"
    users = few(declared, at, users, _USERS_MAX)
    for where, user in items(users, at):
        for key in ("resource", "name", "uid"):
            found.require(f"{where}.{key}", user.get(key))
    ids = [user.get("uid") or "" for user in users]
    for (where, _, is_repeated), user in zip(repeats(ids, at), users, strict=True):
        if is_repeated:
            declared.duplicate(where, user)


def _check_devices(
    found: Findings, declared: Findings, devices: list[Json] | None, known: set[tuple[str, ...]]
) -> None:
    ids = [device_id(device) for device in devices or ()]
    for (where, identity, is_repeated), device in zip(
        repeats(ids, "status.devices"), devices or (), strict=True
    ):
        check_driver(found, f"{where}.driver", device.get("driver") or "")
        check_pool_name(found, f"{where}.pool", device.get("pool") or "")
        found.name(f"{where}.device", device.get("device") or "", names.dns_label)
        if identity not in known:
            printed = "/".join(filter(None, identity))
            why = f"Invalid value: {printed}: must be an allocated device in the claim"
            found.append(FieldError(where, Reason.INVALID, why))
        conditions = device.get("conditions") or []
        if len(conditions) > _CONDITIONS_MAX:
            at = f"{where}.conditions"
            found.append(field_error.too_many(at, len(conditions), _CONDITIONS_MAX))
        check_conditions(found, f"{where}.conditions", conditions)
        if is_repeated:
            declared.duplicate(where, device)


def _check_reserved(found: Findings, reserved: list[Json], new: Json, before: Json) -> None:
    at = "status.reservedFor"
    if (new.get("status") or {}).get("allocation") is None:
        found.forbid(at, "may not be specified when `allocated` is not set")
    elif new["metadata"].get("deletionTimestamp"):
        had = before.get("reservedFor") or ()
        if any(user not in had for user in reserved):
            why = (
                "new entries may not be added while `deallocationRequested` or "
                "`deletionTimestamp` are set"
            )
            found.forbid(at, why)


def _check_allocation(
    found: Findings, declared: Findings, at: str, allocation: Json, known: Requests
) -> None:
    devices, where = allocation.get("devices") or {}, f"{at}.devices"
    results = few(declared, f"{where}.results", devices.get("results"), _RESULTS_MAX)
    for place, result in items(results, f"{where}.results"):
        check_reference(found, f"{place}.request", result.get("request") or "", known)
        check_driver(declared, f"{place}.driver", result.get("driver") or "")
        check_pool_name(declared, f"{place}.pool", result.get("pool") or "")
        found.name(f"{place}.device", result.get("device") or "", names.dns_label)
        for spot, toleration in items(result.get("tolerations"), f"{place}.tolerations"):
            check_toleration(found, declared, spot, toleration)
    configs = few(declared, f"{where}.config", devices.get("config"), _CONFIGS_MAX)
    for place, config in items(configs, f"{where}.config"):
        declared.required_one_of(f"{place}.source", config.get("source"), _SOURCES)
        check_references(found, declared, f"{place}.requests", config.get("requests"), known)
        check_device_config(found, declared, place, config)
    if (selector := allocation.get("nodeSelector")) is not None:
        check_node_selector(found, f"{at}.nodeSelector", selector)
