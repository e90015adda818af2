"""Gives services their cluster addresses and node ports, each to one of them.

It happens after the kind's rules and before the validating half of admission, which sees what will
be stored. What was claimed for a write that is then refused is given back at once, unless the
service has it from before. What a service has when it is removed is free again when the request is
answered; ``repair`` does so after a crash.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import field
from ipaddress import IPv4Address, ip_address

import structlog

from proreus.aio.clock import Clock
from proreus.api import field_error
from proreus.api.field_error import FieldError
from proreus.api.json_types import Json, JsonObject
from proreus.api.status import Invalid
from proreus.api.wire import json
from proreus.lazy_dataclass import dataclass
from proreus.server.allocation.claim_records import NETWORKING, AddressRecords, PortRecords
from proreus.server.allocation.claims import Claims, Taken
from proreus.server.allocation.metrics import DYNAMIC, STATIC, AddressMetrics, PortMetrics
from proreus.server.allocation.node_ports import NODE_PORTS, NodePorts
from proreus.server.allocation.service_ranges import ServiceRanges
from proreus.server.registry.admission import Attributes, GiveBack
from proreus.server.registry.collections import Collections
from proreus.server.storage.interface import StorageError
from proreus.server.storage.resource_stores import ResourceStores

_log = structlog.get_logger(__name__)


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
    """``addresses`` are the claims of cluster addresses: the IPAddress objects."""

    def __init__(
        self, collections: Collections, stores: ResourceStores, clock: Clock, ranges: ServiceRanges
    ) -> None:
        services = collections.named("", "v1", "services")
        addresses = collections.named(NETWORKING, "v1", "ipaddresses")
        records = AddressRecords(addresses)
        self.addresses = Claims(
            addresses.store, records, services, clock, _has_address, "serviceIP"
        )
        ports = stores.store("ranges/servicenodeports")
        self._ports = Claims(ports, PortRecords(), services, clock, _has_port, "nodePort")
        self._ranges = ranges
        self.metrics = AddressMetrics(ranges, addresses.cache)
        self.port_metrics = PortMetrics(services.cache, len(NODE_PORTS))
        services.allocate, services.release = self.allocate, self.release

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

    async def release(self, owner: str, old: bytes, new: bytes | None) -> None:
        """What a service had and has no more. The write has happened: failures are for ``repair``
        (addresses) and for who wants the value next (ports)."""
        before, after = _given(old), _given(new) if new is not None else _NOTHING
        try:
            for address in before.addresses - after.addresses:
                await self.addresses.release(address, owner)
            for port in before.ports - after.ports:
                await self._ports.release(str(port), owner)
        except StorageError as error:
            _log.warning(
                "addresses of a service could not be released", service=owner, why=str(error)
            )

    async def _give(self, attributes: Attributes, allocation: _Allocation) -> None:
        spec = (attributes.obj or {}).get("spec") or {}
        before = attributes.old.get("spec") or {} if attributes.old is not None else None
        errors = await self._give_address(allocation, spec, before or {})
        if not errors:
            ports = NodePorts(
                lambda port: self._take_port(allocation, port),
                lambda: self._take_any_port(allocation),
                set(),
            )
            error = await ports.give(spec, before)
            self.port_metrics.failed[STATIC] += error is not None
            errors = [error] if error else []
        if errors:
            raise Invalid.of(attributes.resource.group_kind, attributes.name, errors)

    async def _take_port(self, allocation: _Allocation, port: str) -> None:
        """Raises Taken."""
        await allocation.take(self._ports, port)
        self.port_metrics.given[STATIC] += not allocation.is_dry_run

    async def _take_any_port(self, allocation: _Allocation) -> str:
        port = await allocation.take_any(self._ports, _free_ports())
        self.port_metrics.given[DYNAMIC] += not allocation.is_dry_run
        return port

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
        address = await allocation.take_any(self.addresses, self._ranges.candidates())
        spec["clusterIP"], spec["clusterIPs"] = address, [address]
        if not allocation.is_dry_run:
            self.metrics.note_given(address, DYNAMIC)
        return []

    async def _take_address(self, allocation: _Allocation, given: str) -> list[FieldError]:
        try:
            address = ip_address(given)
        except ValueError:
            return []  # refused by validation
        head = f"failed to allocate IP {given}: "
        if not isinstance(address, IPv4Address) or not self._ranges.contains(address):
            why = f"{head}the provided network does not match the current range"
            return [field_error.invalid("spec.clusterIPs", [given], why)]
        try:
            await allocation.take(self.addresses, given)
        except Taken:
            why = f"{head}provided IP is already allocated"
            return [field_error.invalid("spec.clusterIPs", [given], why)]
        if not allocation.is_dry_run:
            self.metrics.note_given(given, STATIC)
        return []


@dataclass(frozen=True, slots=True)
class _Given:
    """What a stored service has."""

    addresses: frozenset[str]
    ports: frozenset[int]

    @classmethod
    def of(cls, service: Json) -> _Given:
        spec = service.get("spec") or {}
        ports = [port.get("nodePort") for port in spec.get("ports") or ()]
        ports.append(spec.get("healthCheckNodePort"))
        addresses = spec.get("clusterIPs") or ()
        return cls(frozenset(addresses) - {"None"}, frozenset(filter(None, ports)))


_NOTHING = _Given(frozenset(), frozenset())


def _given(stored: bytes) -> _Given:
    try:
        return _Given.of(json.decode(stored))
    except (ValueError, TypeError, AttributeError):
        return _NOTHING  # it was unreadable: nobody knows what it had


def _has_address(service: JsonObject, value: str) -> bool:
    return value in _Given.of(service).addresses


def _has_port(service: JsonObject, value: str) -> bool:
    return int(value) in _Given.of(service).ports


def _free_ports() -> Iterator[str]:
    return map(str, random.sample(NODE_PORTS, len(NODE_PORTS)))
