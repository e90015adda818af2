"""Which addresses and ports a service wants and which it has left behind: decisions, no storage."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from proreus.server.schema.kinds.services import (
    HEADLESS,
    needs_cluster_ip,
    needs_health_port,
    needs_node_ports,
)

Json = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Held:
    """What a stored service occupies."""

    addresses: frozenset[str]
    ports: frozenset[int]


@dataclass(frozen=True, slots=True)
class PortNeed:
    """One port of a service. ``number`` 0: any will do. ``index`` -1: the health check's port."""

    index: int
    number: int

    @property
    def field(self) -> str:
        return (
            "spec.healthCheckNodePort" if self.index < 0 else f"spec.ports[{self.index}].nodePort"
        )


@dataclass(frozen=True, slots=True)
class Needs:
    addresses: tuple[str, ...]  # asked for by name
    any_address: bool
    ports: tuple[PortNeed, ...]


def held(service: Json | None) -> Held:
    if service is None:
        return Held(frozenset(), frozenset())
    spec = service["spec"]
    addresses = spec.get("clusterIPs") or [spec.get("clusterIP") or ""]
    ports = {port.get("nodePort") or 0 for port in spec.get("ports") or ()}
    ports.add(spec.get("healthCheckNodePort") or 0)
    return Held(
        frozenset(address for address in addresses if address and address != HEADLESS),
        frozenset(port for port in ports if port),
    )


def needs_of(service: Json, old: Json | None) -> Needs:
    """What must be claimed before ``service`` may replace ``old``."""
    spec, had = service["spec"], held(old)
    addresses: tuple[str, ...] = ()
    any_address = False
    if needs_cluster_ip(spec) and spec.get("clusterIP") != HEADLESS:
        wanted = held(service).addresses
        addresses = tuple(sorted(wanted - had.addresses))
        any_address = not wanted
    return Needs(addresses, any_address, _port_needs(spec, had))


def _port_needs(spec: Json, had: Held) -> tuple[PortNeed, ...]:
    found: list[PortNeed] = []
    kept: set[tuple[int, str]] = set()
    for index, port in enumerate(spec.get("ports") or ()):
        number = port.get("nodePort") or 0
        if not number and not needs_node_ports(spec):
            continue
        key = (number, port.get("protocol") or "")
        if number and number in had.ports and key not in kept:
            kept.add(key)
        else:
            found.append(PortNeed(index, number))
    number = spec.get("healthCheckNodePort") or 0
    if needs_health_port(spec) and number not in had.ports:
        found.append(PortNeed(-1, number))
    return tuple(found)


def give_address(service: dict[str, Any], address: str) -> None:
    service["spec"]["clusterIP"] = address
    service["spec"]["clusterIPs"] = [address]


def give_port(service: dict[str, Any], need: PortNeed, number: int) -> None:
    if need.index < 0:
        service["spec"]["healthCheckNodePort"] = number
    else:
        service["spec"]["ports"][need.index]["nodePort"] = number
