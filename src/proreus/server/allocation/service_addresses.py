"""Gives services their cluster addresses and node ports, each to one of them.

It happens after the kind's rules and before the validating half of admission, which sees what will
be stored. What was claimed for a write that is then refused is given back at once, unless the
service has it from before.
"""

from __future__ import annotations

import ipaddress
import random
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass, field

from proreus.aio.clock import Clock
from proreus.api import field_error
from proreus.api.field_error import FieldError
from proreus.api.json_types import JsonObject
from proreus.api.status import Invalid
from proreus.server.allocation.claims import Claims, Taken
from proreus.server.kinds.core.service.defaults import needs_health_port, needs_node_ports
from proreus.server.registry.admission import Attributes, GiveBack
from proreus.server.registry.collection import Collection
from proreus.server.storage.resource_stores import ResourceStores

SERVICE_NETWORK = ipaddress.IPv4Network("10.0.0.0/16")
_PORTS = range(30000, 32768)


@dataclass(slots=True)
class _Allocation:
    """What one write claims. A dry run claims nothing."""

    owner: str
    is_dry_run: bool
    claimed: list[tuple[Claims, str, int]] = field(default_factory=list)

    async def take(self, claims: Claims, value: str) -> None:
        """Raises Taken."""
        if not self.is_dry_run:
            self.claimed.append((claims, value, await claims.take(value, self.owner)))

    async def take_any(self, claims: Claims, values: Iterator[str]) -> str:
        if self.is_dry_run:
            return next(values)
        value, revision = await claims.take_any(values, self.owner)
        self.claimed.append((claims, value, revision))
        return value

    async def give_back(self) -> None:
        while self.claimed:
            claims, value, revision = self.claimed.pop()
            await claims.give_back(value, self.owner, revision)


class ServiceAddresses:
    """``network``: the first address is the API server's own and is never given out."""

    def __init__(
        self,
        services: Collection,
        stores: ResourceStores,
        clock: Clock,
        network: ipaddress.IPv4Network = SERVICE_NETWORK,
    ) -> None:
        addresses, ports = (
            stores.store("ranges/serviceips"),
            stores.store("ranges/servicenodeports"),
        )
        self._addresses = Claims(addresses, services, clock, _has_address)
        self._ports = Claims(ports, services, clock, _has_port)
        self._network = network

    async def allocate(self, attributes: Attributes) -> GiveBack:
        """Raises Invalid, InternalError, and has given everything back then."""
        assert attributes.obj is not None, "a write has an object"
        owner = f"{attributes.namespace}/{attributes.obj['metadata']['name']}"
        allocation = _Allocation(owner, attributes.dry_run)
        if not attributes.subresource:
            try:
                await self._give(attributes, allocation)
            except Exception:
                await allocation.give_back()
                raise
        return allocation.give_back

    async def _give(self, attributes: Attributes, allocation: _Allocation) -> None:
        spec = (attributes.obj or {}).get("spec") or {}
        before = (attributes.old or {}).get("spec") or {}
        errors = await self._give_address(allocation, spec, before)
        if not errors:
            errors = [error async for error in self._give_ports(allocation, spec, before)]
        if errors:
            raise Invalid.of(attributes.resource.group_kind, attributes.name, errors)

    async def _give_address(
        self, allocation: _Allocation, spec: JsonObject, before: JsonObject
    ) -> list[FieldError]:
        if spec.get("type") == "ExternalName":
            return []
        given = spec.get("clusterIP") or ""
        if given == "None" or (given and given == before.get("clusterIP")):
            return []
        if given:
            return await self._take_address(allocation, given)
        address = await allocation.take_any(self._addresses, self._free_addresses())
        spec["clusterIP"], spec["clusterIPs"] = address, [address]
        return []

    async def _take_address(self, allocation: _Allocation, given: str) -> list[FieldError]:
        try:
            is_ours = ipaddress.ip_address(given) in self._network
        except ValueError:
            return []  # refused by validation
        head = f"failed to allocate IP {given}: "
        if not is_ours:
            why = (
                f"{head}the provided IP ({given}) is not in the valid range. "
                f"The range of valid IPs is {self._network}"
            )
            return [field_error.invalid("spec.clusterIPs", [given], why)]
        try:
            await allocation.take(self._addresses, given)
        except Taken:
            why = f"{head}provided IP is already allocated"
            return [field_error.invalid("spec.clusterIPs", [given], why)]
        return []

    async def _give_ports(
        self, allocation: _Allocation, spec: JsonObject, before: JsonObject
    ) -> AsyncIterator[FieldError]:
        if not needs_node_ports(spec):
            return
        kept = {port.get("nodePort") for port in before.get("ports") or ()}
        given_twice: set[tuple[int, str]] = set()
        for index, port in enumerate(spec.get("ports") or ()):
            given = port.get("nodePort") or 0
            at = f"spec.ports[{index}].nodePort"
            if given and (given, port.get("protocol") or "TCP") in given_twice:
                yield field_error.invalid(at, given, "provided port is already allocated")
                continue
            given_twice.add((given, port.get("protocol") or "TCP"))
            if not given:
                port["nodePort"] = int(await allocation.take_any(self._ports, _free_ports()))
            elif given not in kept:
                if given not in _PORTS:
                    why = (
                        "provided port is not in the valid range. "
                        f"The range of valid ports is {_PORTS[0]}-{_PORTS[-1]}"
                    )
                    yield field_error.invalid(at, given, why)
                    continue
                try:
                    await allocation.take(self._ports, str(given))
                except Taken:
                    yield field_error.invalid(at, given, "provided port is already allocated")
        if needs_health_port(spec) and not spec.get("healthCheckNodePort"):
            spec["healthCheckNodePort"] = int(await allocation.take_any(self._ports, _free_ports()))

    def _free_addresses(self) -> Iterator[str]:
        size = self._network.num_addresses
        while True:
            yield str(self._network[random.randrange(2, size - 1)])


def _has_address(service: JsonObject, value: str) -> bool:
    return value in ((service.get("spec") or {}).get("clusterIPs") or ())


def _has_port(service: JsonObject, value: str) -> bool:
    spec = service.get("spec") or {}
    return int(value) in [
        spec.get("healthCheckNodePort"),
        *(port.get("nodePort") for port in spec.get("ports") or ()),
    ]


def _free_ports() -> Iterator[str]:
    while True:
        yield str(random.choice(_PORTS))
