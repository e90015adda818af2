"""EndpointSlice: some of the addresses behind a service."""

from __future__ import annotations

from proreus.api import field_error
from proreus.api.field_error import FieldError
from proreus.api.json_types import Json, JsonObject
from proreus.api.values import names
from proreus.server.kinds.parts.addresses import address_warnings, check_endpoint_ip
from proreus.server.kinds.parts.cells import UNSET, age, name_of, shortened
from proreus.server.kinds.parts.findings import Findings, items, repeats
from proreus.server.kinds.parts.pod_template.containers import PROTOCOLS
from proreus.server.resource import Generation, Lifecycle, Names, Resource, Rules
from proreus.server.resource.printer import Cells, Printer

_TYPES = ("FQDN", "IPv4", "IPv6")
_ADDRESSES_MAX = 100
_ENDPOINTS_MAX = 1000
_PORTS_MAX = 20000
_HINTS_MAX = 8


def _default(obj: JsonObject) -> None:
    for port in obj.get("ports") or ():
        port.setdefault("name", "")
        port.setdefault("protocol", "TCP")


def _drop_topology(obj: JsonObject) -> None:
    """Of the version before this one; what is stored may still have it."""
    for endpoint in obj.get("endpoints") or ():
        endpoint.pop("deprecatedTopology", None)


def _prepare_update(new: JsonObject, old: JsonObject) -> None:
    if new.get("endpoints") != old.get("endpoints"):
        _drop_topology(new)


def _validate(obj: JsonObject) -> list[FieldError]:
    found = Findings()
    _check_content(found, obj)
    # What the types declare is checked after all that functions check.
    found.required_one_of("addressType", obj.get("addressType"), _TYPES)
    for where, endpoint in items(obj.get("endpoints"), "endpoints"):
        addresses = endpoint.get("addresses") or []
        found.require(f"{where}.addresses", addresses)
        found.at_most(f"{where}.addresses", addresses, _ADDRESSES_MAX)
    return found


def _check_content(found: Findings, obj: JsonObject) -> None:
    endpoints = obj.get("endpoints") or []
    if len(endpoints) > _ENDPOINTS_MAX:
        found.append(field_error.too_many("endpoints", len(endpoints), _ENDPOINTS_MAX))
    else:
        for where, endpoint in items(endpoints, "endpoints"):
            _check_endpoint(found, where, endpoint, obj.get("addressType") or "")
    if len(obj.get("ports") or ()) > _PORTS_MAX:
        found.append(field_error.too_many("ports", len(obj["ports"]), _PORTS_MAX))
        return
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


def _check_endpoint(found: Findings, at: str, endpoint: Json, kind: str) -> None:
    for where, address in items(endpoint.get("addresses"), f"{at}.addresses"):
        match kind:
            case "IPv4" | "IPv6":
                parsed = names.parse_ip(address)
                if parsed is None or f"IPv{parsed.version}" != kind:
                    found.invalid(where, address, f"must be a valid {kind} address")
                check_endpoint_ip(found, where, address, endpoint.get("targetRef"))
            case "FQDN":
                _check_domain(found, where, address)
    found.name(f"{at}.nodeName", endpoint.get("nodeName"))
    if (hostname := endpoint.get("hostname")) is not None:
        found.name(f"{at}.hostname", hostname, names.dns_label)
    if (hints := endpoint.get("hints")) is not None:
        _check_hints(found, f"{at}.hints", hints)


def _check_hints(found: Findings, at: str, hints: Json) -> None:
    for key, rule in (("forZones", names.label_value), ("forNodes", names.dns_subdomain)):
        entries = hints.get(key) or []
        found.at_most(f"{at}.{key}", entries, _HINTS_MAX)
        if len(entries) > _HINTS_MAX:
            return
        given = [entry.get("name") or "" for entry in entries]
        for where, name, is_repeated in repeats(given, f"{at}.{key}"):
            if is_repeated:
                found.duplicate(f"{where}.name", name)
            found.name(f"{where}.name", name, rule)


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


def _validate_update(new: JsonObject, old: JsonObject) -> list[FieldError]:
    found = Findings(_validate(new))
    found.declared_immutable(new, old, "addressType")
    return found


def _warnings(obj: JsonObject) -> list[str]:
    if obj.get("addressType") == "FQDN":
        return []
    return [
        text
        for where, endpoint in items(obj.get("endpoints"), "endpoints")
        for place, address in items(endpoint.get("addresses"), f"{where}.addresses")
        for text in address_warnings(place, address)
    ]


def _fill(obj: Json, now: float) -> Cells:
    ports = [_slice_port(port) for port in obj.get("ports") or ()]
    hosts = [
        address
        for endpoint in obj.get("endpoints") or ()
        for address in endpoint.get("addresses") or ()
    ]
    return [
        name_of(obj),
        obj.get("addressType", ""),
        shortened(ports) or UNSET,
        shortened(hosts) or UNSET,
        age(obj, now),
    ]


def _slice_port(port: Json) -> str:
    if port.get("port") is not None:
        return str(port["port"])
    return str(port.get("name", "*"))


RESOURCES = (
    Resource(
        names=Names.of("discovery.k8s.io", "v1", "EndpointSlice", "endpointslices"),
        namespaced=True,
        lifecycle=Lifecycle(generation=Generation(on_labels=True)),
        rules=Rules(
            default=_default,
            prepare_create=_drop_topology,
            prepare_update=_prepare_update,
            validate=_validate,
            validate_update=_validate_update,
            warnings=_warnings,
        ),
        printer=Printer.of(_fill, "Name", "AddressType", "Ports", "Endpoints", "Age"),
    ),
)
