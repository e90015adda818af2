"""Namespaces and nodes: the two kinds everything else lives in or on."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from proreus.api.field_error import FieldError, Reason, quote
from proreus.api.values import names
from proreus.api.wire import json
from proreus.server.schema.kinds.findings import Findings, items
from proreus.server.schema.kinds.resources import check_amount
from proreus.server.schema.kinds.scheduling import TAINT_EFFECTS
from proreus.server.schema.rules import JsonObject, Rules

Json = Mapping[str, Any]
_NAME_LABEL = "kubernetes.io/metadata.name"
_FINALIZER = "kubernetes"
_STANDARD_FINALIZERS = (_FINALIZER, "orphan", "foregroundDeletion")


def _default_namespace(obj: JsonObject) -> None:
    if name := obj["metadata"].get("name"):
        obj["metadata"].setdefault("labels", {}).setdefault(_NAME_LABEL, name)


def _prepare_namespace(obj: JsonObject) -> None:
    _default_namespace(obj)
    obj["status"] = {"phase": "Active"}
    finalizers = obj.setdefault("spec", {}).setdefault("finalizers", [])
    if _FINALIZER not in finalizers:
        finalizers.append(_FINALIZER)


def _prepare_namespace_update(new: JsonObject, old: JsonObject) -> None:
    """Only /finalize changes the finalizers of the spec."""
    new["spec"] = old.get("spec") or {}


def _validate_namespace(obj: JsonObject) -> list[FieldError]:
    found = Findings()
    for finalizer in (obj.get("spec") or {}).get("finalizers") or ():
        check_finalizer(found, "spec.finalizers", finalizer)
    return found


def check_finalizer(found: Findings, at: str, name: str) -> None:
    found.name(at, name, names.qualified_name)
    if "/" not in name and name not in _STANDARD_FINALIZERS:
        found.invalid(
            at, name, "name is neither a standard finalizer name nor is it fully qualified"
        )


def finalize_update(new: JsonObject, _: JsonObject) -> list[FieldError]:
    found = Findings()
    for where, finalizer in items((new.get("spec") or {}).get("finalizers"), "spec.finalizers"):
        check_finalizer(found, where, finalizer)
    return found


def _namespace_status(new: JsonObject, _: JsonObject) -> list[FieldError]:
    """The phase says whether the namespace is going, and nothing else."""
    found, phase = Findings(), (new.get("status") or {}).get("phase") or ""
    if new["metadata"].get("deletionTimestamp"):
        if phase != "Terminating":
            why = "may only be 'Terminating' if `deletionTimestamp` is not empty"
            found.invalid("status.Phase", phase, why)
    elif phase != "Active":
        why = "may only be 'Active' if `deletionTimestamp` is empty"
        found.invalid("status.Phase", phase, why)
    return found


NAMESPACE = Rules(
    default=_default_namespace,
    prepare_create=_prepare_namespace,
    prepare_update=_prepare_namespace_update,
    validate=_validate_namespace,
    validate_update=lambda new, _: _validate_namespace(new),
    validate_status=_namespace_status,
)


# --- nodes

_NOT_READY = {"effect": "NoSchedule", "key": "node.kubernetes.io/not-ready"}


def _default_node(obj: JsonObject) -> None:
    spec, status = obj["spec"], obj.get("status") or {}
    if spec.get("podCIDR") and not spec.get("podCIDRs"):
        spec["podCIDRs"] = [spec["podCIDR"]]
    elif spec.get("podCIDRs") and not spec.get("podCIDR"):
        spec["podCIDR"] = spec["podCIDRs"][0]
    if status.get("capacity") and "allocatable" not in status:
        status["allocatable"] = dict(status["capacity"])


def _prepare_node(obj: JsonObject) -> None:
    """A new node takes no pods before it has reported that it is ready."""
    taints = obj["spec"].setdefault("taints", [])
    if not any(
        taint.get("key") == _NOT_READY["key"] and taint.get("effect") == _NOT_READY["effect"]
        for taint in taints
    ):
        taints.append(dict(_NOT_READY))


def _validate_node(obj: JsonObject) -> list[FieldError]:
    found, spec = Findings(), obj["spec"]
    _check_taints(found, "metadata.taints", spec.get("taints"))
    _check_sizes(found, obj.get("status") or {})
    _check_addresses(found, obj.get("status") or {})
    _check_networks(found, spec.get("podCIDRs") or [])
    return found


def _check_taints(found: Findings, at: str, taints: list[Json] | None) -> None:
    seen: dict[str, list[str]] = {}
    for where, taint in items(taints, at):
        key, value = taint.get("key") or "", taint.get("value") or ""
        effect = taint.get("effect") or ""
        found.name(f"{where}.key", key, names.qualified_name)
        found.name(f"{where}.value", value, names.label_value)
        if found.require(f"{where}.effect", effect):
            found.one_of(f"{where}.effect", effect, TAINT_EFFECTS)
        if effect in seen and key in seen[effect]:
            shown = {
                "Key": key,
                "Value": value,
                "Effect": effect,
                "TimeAdded": taint.get("timeAdded"),
            }
            message = (
                f"Duplicate value: {quote(shown)}: taints must be unique by key and effect pair"
            )
            found.append(FieldError(where, Reason.DUPLICATE, message))
        seen.setdefault(effect, []).append(key)


def _check_sizes(found: Findings, status: Json) -> None:
    for field in ("capacity", "allocatable"):
        for name, amount in sorted((status.get(field) or {}).items()):
            check_amount(found, f"status.{field}.{name}", name, amount)


def _check_addresses(found: Findings, status: Json) -> None:
    seen: set[bytes] = set()
    for where, address in items(status.get("addresses"), "status.addresses"):
        if (known := json.canonical(address)) in seen:
            shown = {"Type": address.get("type"), "Address": address.get("address")}
            found.duplicate(where, shown)
        seen.add(known)


def _check_networks(found: Findings, networks: list[str]) -> None:
    at = "spec.podCIDRs"
    for where, network in items(networks, at):
        found.name(where, network, names.cidr)
    parsed = [network for text in networks if (network := names.parse_cidr(text))]
    is_one_family = len(parsed) == 2 and parsed[0].version == parsed[1].version
    if len(networks) > 2 or is_one_family:
        found.invalid(at, networks, "may specify no more than one CIDR for each IP family")


def _node_update(new: JsonObject, old: JsonObject) -> list[FieldError]:
    found = Findings(_validate_node(new))
    spec, before = new["spec"], old["spec"]
    if before.get("podCIDRs") and spec.get("podCIDRs") != before["podCIDRs"]:
        found.forbid("spec.podCIDRs", 'node updates may not change podCIDR except from "" to valid')
    if before.get("providerID") and spec.get("providerID") != before["providerID"]:
        # The reference prints no value here.
        found.invalid("spec.providerID", None, "field is immutable")
    return found


NODE = Rules(
    default=_default_node,
    prepare_create=_prepare_node,
    validate=_validate_node,
    validate_update=_node_update,
    validate_status=lambda new, _: _validate_node(new),
    keeps_status=True,
)
