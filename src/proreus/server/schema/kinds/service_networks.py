"""The addresses services may have: their ranges, and who holds which; and aggregated APIs."""

from __future__ import annotations

import ipaddress

from proreus.api.field_error import FieldError
from proreus.api.values import names
from proreus.server.schema.kinds.findings import IMMUTABLE, Findings, items
from proreus.server.schema.rules import JsonObject, Rules

_TWO_FAMILIES = (
    "may specify no more than one IP for each IP family, i.e 192.168.0.0/24 and 2001:db8::/96"
)
_GROUP_PRIORITY_MAX, _VERSION_PRIORITY_MAX = 20000, 1000


# --- addresses


def _validate_address(obj: JsonObject) -> list[FieldError]:
    found = Findings()
    found.name("metadata.name", obj["metadata"].get("name") or "", _canonical_address)
    reference = obj["spec"].get("parentRef")
    if reference is None:
        found.require("spec.parentRef", None)
        return found
    at = "spec.parentRef"
    if reference.get("group"):
        found.name(f"{at}.group", reference["group"])
    found.required_name(f"{at}.resource", reference.get("resource"), names.path_segment)
    found.required_name(f"{at}.name", reference.get("name"), names.path_segment)
    if reference.get("namespace"):
        found.name(f"{at}.namespace", reference["namespace"], names.path_segment)
    return found


def _canonical_address(name: str) -> list[str]:
    try:
        address = ipaddress.ip_address(name)
    except ValueError:
        return [f'ParseAddr("{name}"): unable to parse IP']
    return [] if str(address) == name else ["must be a canonical format IP address"]


def _address_update(new: JsonObject, old: JsonObject) -> list[FieldError]:
    found = Findings()
    found.immutable("spec.parentRef", new["spec"].get("parentRef"), old["spec"].get("parentRef"))
    return found


IP_ADDRESS = Rules(validate=_validate_address, validate_update=_address_update)


# --- ranges


def _validate_ranges(obj: JsonObject) -> list[FieldError]:
    found, at = Findings(), "spec.cidrs"
    ranges = obj["spec"].get("cidrs") or []
    if not found.require(at, ranges, "at least one CIDR required"):
        return found
    shown = {"CIDRs": ranges}
    if len(ranges) > 2:
        found.invalid(at, shown, "may only hold up to 2 values")
    elif len(ranges) == 2 and (
        any(names.cidr(text) for text in ranges) or len({":" in text for text in ranges}) == 1
    ):
        found.invalid(at, shown, _TWO_FAMILIES)
    else:
        for where, text in items(ranges, at):
            found.name(where, text, names.cidr)
    return found


def _ranges_update(new: JsonObject, old: JsonObject) -> list[FieldError]:
    """A second family may be added, nothing else changes."""
    found, at = Findings(), "spec.cidrs"
    ranges, before = new["spec"].get("cidrs") or [], old["spec"].get("cidrs") or []
    if len(ranges) == len(before) or (len(before), len(ranges)) == (1, 2):
        for index, text in enumerate(before):
            if ranges[index] != text:
                found.invalid(f"{at}[{index}]", ranges[index], IMMUTABLE)
    else:
        found.invalid(at, ranges, IMMUTABLE)
    return found


SERVICE_CIDR = Rules(validate=_validate_ranges, validate_update=_ranges_update)


# --- aggregated APIs


def _default_api_service(obj: JsonObject) -> None:
    if (service := obj["spec"].get("service")) is not None:
        service.setdefault("port", 443)


def _prepare_api_service(obj: JsonObject) -> None:
    """What this server serves itself is there from the beginning."""
    if obj["spec"].get("service") is None:
        available = {
            "type": "Available",
            "status": "True",
            "lastTransitionTime": obj["metadata"]["creationTimestamp"],
            "reason": "Local",
            "message": "Local APIServices are always available",
        }
        obj["status"] = {"conditions": [available]}


def _validate_api_service(obj: JsonObject) -> list[FieldError]:
    found, spec = Findings(), obj["spec"]
    group, version = spec.get("group") or "", spec.get("version") or ""
    name, wanted = obj["metadata"].get("name") or "", f"{version}.{group}"
    if not names.path_segment(name) and name != wanted:
        found.invalid("metadata.name", name, f'must be `spec.version+"."+spec.group`: "{wanted}"')
    if group:
        found.name("spec.group", group)
    elif version != "v1":
        why = "only v1 may have an empty group and it better be legacy kube"
        found.require("spec.group", None, why)
    found.name("spec.version", version, names.dns_1035_label)
    for key, most in (
        ("groupPriorityMinimum", _GROUP_PRIORITY_MAX),
        ("versionPriority", _VERSION_PRIORITY_MAX),
    ):
        if not 0 < (spec.get(key) or 0) <= most:
            why = f"must be positive and less than {most}"
            found.invalid(f"spec.{key}", spec.get(key) or 0, why)
    _check_backend(found, spec)
    return found


def _check_backend(found: Findings, spec: JsonObject) -> None:
    service, bundle = spec.get("service"), spec.get("caBundle")
    insecure = bool(spec.get("insecureSkipTLSVerify"))
    if service is None:
        if bundle:
            size = f"{len(bundle) * 3 // 4 - bundle.count('=')} bytes"
            found.invalid("spec.caBundle", size, "local APIServices may not have a caBundle")
        if insecure:
            why = "local APIServices may not have insecureSkipTLSVerify"
            found.invalid("spec.insecureSkipTLSVerify", True, why)
        return
    found.require("spec.service.namespace", service.get("namespace"))
    found.require("spec.service.name", service.get("name"))
    port = service.get("port") or 0
    if not 1 <= port <= 65535:
        why = "port is not valid: must be between 1 and 65535, inclusive"
        found.invalid("spec.service.port", port, why)
    if insecure and bundle:
        found.invalid("spec.insecureSkipTLSVerify", True, "may not be true if caBundle is present")


API_SERVICE = Rules(
    default=_default_api_service,
    prepare_create=_prepare_api_service,
    validate=_validate_api_service,
    validate_update=lambda new, _: _validate_api_service(new),
)
