"""Endpoints: the addresses behind a service, in one object."""

from __future__ import annotations

from collections.abc import Sequence

from proreus.api.field_error import FieldError
from proreus.api.json_types import Json, JsonObject
from proreus.api.values import names
from proreus.server.kinds.parts.addresses import address_warnings, check_endpoint_ip
from proreus.server.kinds.parts.cells import NONE, age, name_of, shortened
from proreus.server.kinds.parts.findings import Findings, items
from proreus.server.kinds.parts.pod_template.containers import PROTOCOLS
from proreus.server.resource import Lifecycle, Names, Persistence, Resource, Rules
from proreus.server.resource.printer import Cells, Printer


def _default(obj: JsonObject) -> None:
    for subset in obj.get("subsets") or ():
        for port in subset.get("ports") or ():
            port.setdefault("protocol", "TCP")


def _validate(obj: JsonObject) -> list[FieldError]:
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


def _warnings(obj: JsonObject) -> list[str]:
    return [
        text
        for where, subset in items(obj.get("subsets"), "subsets")
        for key in ("addresses", "notReadyAddresses")
        for place, address in items(subset.get(key), f"{where}.{key}")
        for text in address_warnings(f"{place}.ip", address.get("ip") or "")
    ]


def _check_address(found: Findings, at: str, address: Json) -> None:
    ip = address.get("ip") or ""
    found.name(f"{at}.ip", ip, names.ip_address)
    if address.get("hostname"):
        found.name(f"{at}.hostname", address["hostname"], names.dns_label)
    found.name(f"{at}.nodeName", address.get("nodeName"))
    check_endpoint_ip(found, f"{at}.ip", ip, address.get("targetRef"))


def _check_port(found: Findings, at: str, port: Json, *, needs_name: bool) -> None:
    name = port.get("name") or ""
    if needs_name and not name:
        found.require(f"{at}.name", name)
    elif name:
        found.name(f"{at}.name", name, names.dns_label)
    found.port(f"{at}.port", port.get("port") or 0)
    found.required_one_of(f"{at}.protocol", port.get("protocol"), PROTOCOLS)
    found.name(f"{at}.appProtocol", port.get("appProtocol"), names.qualified_name)


def _fill(obj: Json, now: float) -> Cells:
    subsets = obj.get("subsets") or ()
    text = shortened(_addresses(subsets)) if subsets else NONE
    return [name_of(obj), text, age(obj, now)]


def _addresses(subsets: Sequence[Json]) -> list[str]:
    found = []
    for subset in subsets:
        hosts = [address.get("ip", "") for address in subset.get("addresses") or ()]
        ports = subset.get("ports") or ()
        if not ports:
            found += hosts
        for port in ports:
            found += [_host_port(host, port.get("port", 0)) for host in hosts]
    return found


def _host_port(host: str, port: int) -> str:
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


RESOURCES = (
    Resource(
        names=Names.of("", "v1", "Endpoints", "endpoints", "ep"),
        namespaced=True,
        persistence=Persistence(prefix="services/endpoints"),
        lifecycle=Lifecycle(create_on_update=True),
        rules=Rules(default=_default, validate=_validate, warnings=_warnings),
        printer=Printer.of(_fill, "Name", "Endpoints", "Age"),
        deprecation_warning=(
            "v1 Endpoints is deprecated in v1.33+; use discovery.k8s.io/v1 EndpointSlice"
        ),
    ),
)
