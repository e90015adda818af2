"""Node: a machine that runs pods."""

from __future__ import annotations

from proreus.api.field_error import FieldError, Reason, quote
from proreus.api.json_types import Json, JsonObject
from proreus.api.values import names
from proreus.api.wire import json
from proreus.server.kinds.parts.cells import NONE, age, condition, name_of
from proreus.server.kinds.parts.findings import Findings, items, repeats
from proreus.server.kinds.parts.pod_template.scheduling import TAINT_EFFECTS
from proreus.server.kinds.parts.resources import check_amount
from proreus.server.resource import Names, Persistence, Resource, Rules, Subresource
from proreus.server.resource.printer import Cells, Printer
from proreus.server.resource.selectable import at_paths
from proreus.server.resource.subresource import PROXY


def _default(obj: JsonObject) -> None:
    spec, status = obj["spec"], obj.get("status") or {}
    network, networks = spec.get("podCIDR"), spec.get("podCIDRs")
    if network and (not networks or networks[0] != network):
        spec["podCIDRs"] = [network]  # the older field wins
    elif networks and not network:
        spec["podCIDR"] = networks[0]
    if status.get("capacity") and "allocatable" not in status:
        status["allocatable"] = dict(status["capacity"])


def _validate(obj: JsonObject) -> list[FieldError]:
    found, spec = Findings(), obj["spec"]
    _check_taints(found, "metadata.taints", spec.get("taints"))
    _check_sizes(found, obj.get("status") or {})
    _check_networks(found, spec.get("podCIDRs") or [])
    return found


def _check_taints(found: Findings, at: str, taints: list[Json] | None) -> None:
    seen: dict[str, list[str]] = {}
    for where, taint in items(taints, at):
        key, value = taint.get("key") or "", taint.get("value") or ""
        effect = taint.get("effect") or ""
        found.name(f"{where}.key", key, names.qualified_name)
        if faults := names.label_value(value):
            found.invalid(f"{where}.value", value, ";".join(faults))
        if found.require(f"{where}.effect", effect):
            found.one_of(f"{where}.effect", effect, TAINT_EFFECTS)
        if effect in seen and key in seen[effect]:
            added = taint.get("timeAdded")
            printed = quote({"Key": key, "Value": value, "Effect": effect, "TimeAdded": added})
            why = "taints must be unique by key and effect pair"
            found.append(FieldError(where, Reason.DUPLICATE, f"Duplicate value: {printed}: {why}"))
        seen.setdefault(effect, []).append(key)


def _check_sizes(found: Findings, status: Json) -> None:
    for field in ("capacity", "allocatable"):
        for name, amount in sorted((status.get(field) or {}).items()):
            check_amount(found, f"status.{field}.{name}", name, amount)


def _check_addresses(found: Findings, status: Json) -> None:
    seen: set[bytes] = set()
    for where, address in items(status.get("addresses"), "status.addresses"):
        if (known := json.canonical(address)) in seen:
            printed = {"Type": address.get("type"), "Address": address.get("address")}
            found.duplicate(where, printed)
        seen.add(known)


def _check_networks(found: Findings, networks: list[str]) -> None:
    at = "spec.podCIDRs"
    for where, network in items(networks, at):
        found.name(where, network, names.cidr)
    parsed = [network for text in networks if (network := names.parse_cidr(text))]
    is_one_family = len(parsed) == 2 and parsed[0].version == parsed[1].version
    if len(networks) > 2 or is_one_family:
        found.invalid(at, networks, "may specify no more than one CIDR for each IP family")
    if len(networks) > 1:
        for where, network, is_repeated in repeats(networks, at):
            if is_repeated:
                found.duplicate(where, network)


def _validate_update(new: JsonObject, old: JsonObject) -> list[FieldError]:
    """Every rule of a new node, too."""
    found = _validate(new)
    return Findings([*found, *(fault for fault in _changes(new, old) if fault not in found)])


def _changes(new: JsonObject, old: JsonObject) -> list[FieldError]:
    found = Findings()
    spec, before = new["spec"], old["spec"]
    _check_sizes(found, new.get("status") or {})
    _check_addresses(found, new.get("status") or {})
    if before.get("podCIDRs"):
        _check_kept_networks(found, spec.get("podCIDRs") or [], before["podCIDRs"])
    _check_taints(found, "metadata.taints", spec.get("taints"))
    if (spec.get("externalID") or "") != (before.get("externalID") or ""):
        found.forbid("spec.externalID", "may not be updated")
    if before.get("providerID"):
        found.declared_immutable(spec, before, "providerID", at="spec.")
    return found


def _check_kept_networks(found: Findings, networks: list[str], before: list[str]) -> None:
    """Each that is another one is a fault, as is another number of them."""
    changed = (
        1
        if len(networks) != len(before)
        else sum(now != then for now, then in zip(networks, before, strict=True))
    )
    for _ in range(changed):
        found.forbid("spec.podCIDRs", 'node updates may not change podCIDR except from "" to valid')


def _warnings(obj: JsonObject) -> list[str]:
    spec, found = obj["spec"], list[str]()
    if spec.get("configSource") is not None:
        found.append("spec.configSource: the feature is removed")
    if spec.get("externalID"):
        found.append("spec.externalID: this field is deprecated, and is unused by Kubernetes")
    return found


_ROLE_PREFIX = "node-role.kubernetes.io/"
_ROLE_LABEL = "kubernetes.io/role"
_UNKNOWN = "<unknown>"


def _fill(obj: Json, now: float) -> Cells:
    status = obj.get("status") or {}
    about = status.get("nodeInfo") or {}
    return [
        name_of(obj),
        _node_status(obj),
        _roles(obj),
        age(obj, now),
        about.get("kubeletVersion", ""),
        _address(status, "InternalIP"),
        _address(status, "ExternalIP"),
        about.get("osImage") or _UNKNOWN,
        _kernel(about),
        about.get("containerRuntimeVersion") or _UNKNOWN,
    ]


def _node_status(obj: Json) -> str:
    ready = condition(obj, "Ready")
    text = "Unknown" if ready is None else "Ready" if ready.get("status") == "True" else "NotReady"
    cordoned = (obj.get("spec") or {}).get("unschedulable")
    return f"{text},SchedulingDisabled" if cordoned else text


def _roles(obj: Json) -> str:
    labels = (obj.get("metadata") or {}).get("labels") or {}
    roles = {key.removeprefix(_ROLE_PREFIX) for key in labels if key.startswith(_ROLE_PREFIX)}
    roles.add(labels.get(_ROLE_LABEL, ""))
    return ",".join(sorted(roles - {""})) or NONE


def _address(status: Json, kind: str) -> str:
    addresses = status.get("addresses") or ()
    return next((a.get("address", "") for a in addresses if a.get("type") == kind), NONE)


def _kernel(about: Json) -> str:
    version, machine = about.get("kernelVersion") or _UNKNOWN, about.get("architecture")
    return f"{version} ({machine})" if machine else str(version)


_PRINTER = Printer.of(
    _fill, "Name", "Status", "Roles", "Age", "Version", "Internal-IP*", "External-IP*",
    "OS-Image*", "Kernel-Version*", "Container-Runtime*",
)  # fmt: skip

_NAMES = Names.of("", "v1", "Node", "nodes", "no")
_V1 = _NAMES.group_version


RESOURCES = (
    Resource(
        names=_NAMES,
        namespaced=False,
        subresources=(Subresource(name="proxy", kind=_V1.kind("NodeProxyOptions"), verbs=PROXY),),
        has_status=True,
        persistence=Persistence(prefix="minions"),
        selectable=at_paths("spec.unschedulable", absent=False),
        rules=Rules(
            default=_default,
            validate=_validate,
            validate_update=_validate_update,
            validate_status=_changes,
            warnings=_warnings,
            keeps_status=True,
        ),
        printer=_PRINTER,
    ),
)
