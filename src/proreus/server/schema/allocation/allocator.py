"""Gives services their cluster addresses and node ports, safely with several servers.

The route of a write: ``allocate`` claims and fills in, the service is written, then ``settle``
gives back what the service no longer uses; if the write fails, ``undo`` gives back what was
claimed. After a service is deleted, ``release`` frees all it held. A crash in between leaves only
claims that others may take over later (``claims``).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from proreus.aio.clock import Clock
from proreus.api import field_error
from proreus.api.field_error import FieldError
from proreus.api.group_version import GroupKind
from proreus.api.status import InternalError, Invalid
from proreus.server.schema.allocation.claims import Claims
from proreus.server.schema.allocation.needs import (
    Needs,
    PortNeed,
    give_address,
    give_port,
    held,
    needs_of,
)
from proreus.server.schema.allocation.ranges import Ranges
from proreus.server.storage.interface import Storage

JsonObject = dict[str, Any]
_SERVICE = GroupKind("", "Service")


@dataclass(slots=True)
class Allocation:
    """What one write has claimed, and what it will leave behind."""

    claims: Claims
    addresses: set[str] = field(default_factory=set)
    ports: set[int] = field(default_factory=set)
    left_addresses: frozenset[str] = frozenset()
    left_ports: frozenset[int] = frozenset()

    async def undo(self) -> None:
        """The write failed: nothing claimed for it is kept."""
        for address in self.addresses:
            await self.claims.release_address(address)
        for port in self.ports:
            await self.claims.release_port(port)
        self.addresses.clear()
        self.ports.clear()

    async def settle(self) -> None:
        """The write succeeded: what the old service used and the new one does not is free."""
        for address in self.left_addresses:
            await self.claims.release_address(address)
        for port in self.left_ports:
            await self.claims.release_port(port)


class ServiceAllocator:
    def __init__(self, storage: Storage, clock: Clock, ranges: Ranges | None = None) -> None:
        self._storage = storage
        self._clock = clock
        self._ranges = ranges or Ranges()

    async def allocate(
        self, service: JsonObject, old: Mapping[str, Any] | None = None, *, dry_run: bool = False
    ) -> Allocation:
        """Fill in what the server chooses. Raises Invalid; then nothing stays claimed."""
        allocation = Allocation(self._claims(service))
        needs = needs_of(service, old)
        try:
            errors = await self._addresses(service, needs, allocation, dry_run=dry_run)
            errors += await self._ports(service, needs, allocation, dry_run=dry_run)
            if errors:
                raise Invalid.of(_SERVICE, service["metadata"].get("name") or "", errors)
        except BaseException:
            await allocation.undo()
            raise
        now, before = held(service), held(old)
        if not dry_run:
            allocation.left_addresses = before.addresses - now.addresses
            allocation.left_ports = before.ports - now.ports
        return allocation

    async def release(self, service: Mapping[str, Any]) -> None:
        """A service is gone."""
        claims, had = self._claims(service), held(service)
        for address in had.addresses:
            await claims.release_address(address)
        for port in had.ports:
            await claims.release_port(port)

    def _claims(self, service: Mapping[str, Any]) -> Claims:
        metadata = service["metadata"]
        return Claims(
            self._storage, self._clock, metadata.get("namespace") or "", metadata.get("name") or ""
        )

    async def _addresses(
        self, service: JsonObject, needs: Needs, allocation: Allocation, *, dry_run: bool
    ) -> list[FieldError]:
        wanted = service["spec"].get("clusterIPs") or []
        for address in needs.addresses:
            if why := await self._take_address(address, allocation, dry_run=dry_run):
                text = f"failed to allocate IP {address}: {why}"
                return [field_error.invalid("spec.clusterIPs", wanted, text)]
        if needs.any_address:
            give_address(service, await self._any_address(allocation, dry_run=dry_run))
        return []

    async def _take_address(self, address: str, allocation: Allocation, *, dry_run: bool) -> str:
        if not self._ranges.holds_address(address):
            return (
                "the provided network does not match the current range"
                if ":" in address
                else f"the provided IP ({address}) is not in the valid range. The range of valid "
                f"IPs is {self._ranges.addresses}"
            )
        if dry_run:
            used = await allocation.claims.used_addresses()
            return "provided IP is already allocated" if address in used else ""
        if not await allocation.claims.claim_address(address):
            return "provided IP is already allocated"
        allocation.addresses.add(address)
        return ""

    async def _any_address(self, allocation: Allocation, *, dry_run: bool) -> str:
        claims = allocation.claims
        if dry_run:
            return next(self._ranges.free_addresses(await claims.used_addresses()))
        for guess in self._ranges.random_addresses():
            if await claims.claim_address(guess):
                allocation.addresses.add(guess)
                return guess
        for address in self._ranges.free_addresses(await claims.used_addresses()):
            if await claims.claim_address(address):
                allocation.addresses.add(address)
                return address
        raise InternalError.of("failed to allocate a serviceIP: range is full")

    async def _ports(
        self, service: JsonObject, needs: Needs, allocation: Allocation, *, dry_run: bool
    ) -> list[FieldError]:
        by_number: dict[int, str] = {}  # one number may serve TCP and UDP of the same service
        for need in needs.ports:
            protocol = _protocol(service, need)
            if by_number.get(need.number, protocol) != protocol:
                continue
            number = need.number
            if number:
                if why := await self._take_port(number, allocation, dry_run=dry_run):
                    return [field_error.invalid(need.field, number, why)]
                by_number[number] = protocol
            else:
                number = await self._any_port(allocation, dry_run=dry_run)
            give_port(service, need, number)
        return []

    async def _take_port(self, number: int, allocation: Allocation, *, dry_run: bool) -> str:
        if number not in self._ranges.ports:
            return (
                "provided port is not in the valid range. The range of valid ports is "
                f"{self._ranges.ports_text}"
            )
        if number in allocation.ports:
            return "provided port is already allocated"
        if dry_run:
            used = await allocation.claims.used_ports()
            return "provided port is already allocated" if str(number) in used else ""
        if not await allocation.claims.claim_port(number):
            return "provided port is already allocated"
        allocation.ports.add(number)
        return ""

    async def _any_port(self, allocation: Allocation, *, dry_run: bool) -> int:
        claims = allocation.claims
        if dry_run:
            return next(self._ranges.free_ports(await claims.used_ports()))
        for guess in self._ranges.random_ports():
            if guess not in allocation.ports and await claims.claim_port(guess):
                allocation.ports.add(guess)
                return guess
        for number in self._ranges.free_ports(await claims.used_ports()):
            if await claims.claim_port(number):
                allocation.ports.add(number)
                return number
        raise InternalError.of("failed to allocate a nodePort: range is full")


def _protocol(service: JsonObject, need: PortNeed) -> str:
    if need.index < 0:
        return "health"
    return str(service["spec"]["ports"][need.index].get("protocol") or "TCP")
