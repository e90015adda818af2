"""Endpoints and endpoint slices, and which addresses may be behind a service."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from proreus.api import field_error
from proreus.api.field_error import FieldError
from proreus.api.values import names
from proreus.server.schema.kinds.containers import PROTOCOLS
from proreus.server.schema.kinds.findings import Findings, items
from proreus.server.schema.rules import JsonObject, Rules

Json = Mapping[str, Any]
_TYPES = ("FQDN", "IPv4", "IPv6")
_ADDRESSES_MAX = 100
_ENDPOINTS_MAX = 1000
_PORTS_MAX = 20000


def check_non_special_ip(found: Findings, at: str, text: str) -> None:
    """A service must not lead to the node itself, nor to a whole network."""
    address = names.parse_ip(text)
    if address is None:
        found.invalid(at, text, "must be a valid IP address")
        return
    if address.is_unspecified:
        found.invalid(at, text, f"may not be unspecified ({text})")
    if address.is_loopback:
        found.invalid(at, text, "may not be in the loopback range (127.0.0.0/8, ::1/128)")
    if address.is_link_local:
        found.invalid(at, text, "may not be in the link-local range (169.254.0.0/16, fe80::/10)")
    multicast = str(address).startswith(("224.0.0.", "ff02:"))
    if multicast:
        found.invalid(
            at, text, "may not be in the link-local multicast range (224.0.0.0/24, ff02::/10)"
        )


# --- endpoints


def _default_endpoints(obj: JsonObject) -> None:
    for subset in obj.get("subsets") or ():
        for port in subset.get("ports") or ():
            port.setdefault("protocol", "TCP")


def _validate_endpoints(obj: JsonObject) -> list[FieldError]:
    found = Findings()
    for where, subset in items(obj.get("subsets"), "subsets"):
        ready, not_ready = subset.get("addresses"), subset.get("notReadyAddresses")
        if not ready and not not_ready:
            found.require(where, None, "must specify `addresses` or `notReadyAddresses`")
        for key in ("addresses", "notReadyAddresses"):
            for place, address in items(subset.get(key), f"{where}.{key}"):
                _check_address(found, place, address)
        ports = subset.get("ports") or []
        for place, port in items(ports, f"{where}.ports"):
            _check_port(found, place, port, needs_name=len(ports) > 1)
    return found


def _check_address(found: Findings, at: str, address: Json) -> None:
    ip = address.get("ip") or ""
    found.name(f"{at}.ip", ip, names.ip_address)
    if address.get("hostname"):
        found.name(f"{at}.hostname", address["hostname"], names.dns_label)
    found.name(f"{at}.nodeName", address.get("nodeName"))
    check_non_special_ip(found, f"{at}.ip", ip)


def _check_port(found: Findings, at: str, port: Json, *, needs_name: bool) -> None:
    name = port.get("name") or ""
    if needs_name and not name:
        found.require(f"{at}.name", name)
    elif name:
        found.name(f"{at}.name", name, names.dns_label)
    found.port(f"{at}.port", port.get("port") or 0)
    found.required_one_of(f"{at}.protocol", port.get("protocol"), PROTOCOLS)
    found.name(f"{at}.appProtocol", port.get("appProtocol"), names.qualified_name)


ENDPOINTS = Rules(
    default=_default_endpoints,
    validate=_validate_endpoints,
    validate_update=lambda new, _: _validate_endpoints(new),
)


# --- endpoint slices


def _default_slice(obj: JsonObject) -> None:
    for port in obj.get("ports") or ():
        port.setdefault("name", "")
        port.setdefault("protocol", "TCP")


def _validate_slice(obj: JsonObject) -> list[FieldError]:
    found = Findings()
    found.required_one_of("addressType", obj.get("addressType"), _TYPES)
    endpoints = obj.get("endpoints") or []
    if len(endpoints) > _ENDPOINTS_MAX:
        found.append(field_error.too_many("endpoints", len(endpoints), _ENDPOINTS_MAX))
    else:
        for where, endpoint in items(endpoints, "endpoints"):
            _check_endpoint(found, where, endpoint, obj.get("addressType") or "")
    if len(obj.get("ports") or ()) > _PORTS_MAX:
        found.append(field_error.too_many("ports", len(obj["ports"]), _PORTS_MAX))
        return found
    seen: set[str] = set()
    for where, port in items(obj.get("ports"), "ports"):
        name = port.get("name") or ""
        if name:
            found.name(f"{where}.name", name, names.dns_label)
        if name in seen:
            found.duplicate(f"{where}.name", name)
        seen.add(name)
        found.required_one_of(f"{where}.protocol", port.get("protocol"), PROTOCOLS)
        found.name(f"{where}.appProtocol", port.get("appProtocol"), names.qualified_name)
    return found


def _check_endpoint(found: Findings, at: str, endpoint: Json, kind: str) -> None:
    addresses = endpoint.get("addresses") or []
    if not addresses:
        found.require(f"{at}.addresses", None, "must contain at least 1 address")
    elif len(addresses) > _ADDRESSES_MAX:
        found.append(field_error.too_many(f"{at}.addresses", len(addresses), _ADDRESSES_MAX))
    for where, address in items(addresses, f"{at}.addresses"):
        match kind:
            case "IPv4" | "IPv6":
                parsed = names.parse_ip(address)
                if parsed is None or f"IPv{parsed.version}" != kind:
                    found.invalid(where, address, f"must be a valid {kind} address")
                check_non_special_ip(found, where, address)
            case "FQDN":
                _check_domain(found, where, address)
    found.name(f"{at}.nodeName", endpoint.get("nodeName"))
    if (hostname := endpoint.get("hostname")) is not None:
        found.name(f"{at}.hostname", hostname, names.dns_label)


def _check_domain(found: Findings, at: str, text: str) -> None:
    """Of at least two labels; the dot at the end may be there."""
    name = text.removesuffix(".")
    if not found.require(at, text):
        return
    if faults := names.dns_subdomain(name):
        found.invalid(at, name, ",".join(faults))
    elif "." not in name:
        why = "should be a domain with at least two segments separated by dots"
        found.invalid(at, name, why)


def _slice_update(new: JsonObject, old: JsonObject) -> list[FieldError]:
    found = Findings(_validate_slice(new))
    if new.get("addressType") != old.get("addressType"):
        found.invalid("addressType", None, "field is immutable")  # the reference prints no value
    return found


ENDPOINT_SLICE = Rules(
    default=_default_slice, validate=_validate_slice, validate_update=_slice_update
)
