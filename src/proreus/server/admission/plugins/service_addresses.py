"""Cluster addresses and node ports of services: each has one owner, whoever gives it out.

A claim is a key in storage, written only if it is not there, so two servers cannot give the same
address away. It holds as long as its service has the address: a claim whose service is gone, or
has another address, may be taken over once it is old enough not to belong to a create under way.
So nothing has to be released, and a crash leaves nothing to repair.
"""

from __future__ import annotations

import ipaddress
import random
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from typing import Any

from proreus.aio.clock import Clock
from proreus.api import field_error
from proreus.api.field_error import FieldError
from proreus.api.status import InternalError, Invalid
from proreus.api.wire import json
from proreus.server.registry.collection import Collection
from proreus.server.registry.write import CREATE, UPDATE, Attributes
from proreus.server.schema.rules import JsonObject
from proreus.server.storage.interface import KeyExists, RevisionConflict
from proreus.server.storage.resource_store import ResourceStore, Update

_PORTS = range(30000, 32768)
_SETTLE_S = 60.0
_ATTEMPTS = 200
_WITH_PORTS = ("NodePort", "LoadBalancer")
Holds = Callable[[JsonObject, str], bool]  # a service, a claimed value


class _Taken(Exception):
    """Another service has it."""


class ServiceAddresses:
    """``network``: the first address is the API server's own and is never given out."""

    def __init__(
        self,
        services: Collection,
        addresses: ResourceStore,
        ports: ResourceStore,
        network: ipaddress.IPv4Network,
        clock: Clock,
    ) -> None:
        self._services = services
        self._addresses = addresses
        self._ports = ports
        self._network = network
        self._clock = clock

    def admit(self, attributes: Attributes) -> Awaitable[None] | None:
        """Last before the write: what is claimed here is about to be stored."""
        resource = attributes.resource
        if resource.plural != "services" or resource.group or attributes.subresource:
            return None
        return self._give(attributes) if attributes.operation in (CREATE, UPDATE) else None

    async def _give(self, attributes: Attributes) -> None:
        resource = attributes.resource
        service = attributes.obj
        assert service is not None, "a write has an object"
        old = attributes.old or {}
        errors = await self._give_address(attributes, service, old.get("spec") or {})
        if not errors:
            errors = [e async for e in self._give_ports(attributes, service, old.get("spec") or {})]
        if errors:
            raise Invalid.of(resource.group_kind, attributes.name, errors)

    async def _give_address(
        self, attributes: Attributes, service: JsonObject, before: JsonObject
    ) -> list[FieldError]:
        spec = service.get("spec") or {}
        if spec.get("type") == "ExternalName":
            return []
        given = spec.get("clusterIP") or ""
        if given == "None" or (given and given == before.get("clusterIP")):
            return []
        if given:
            return await self._take_address(attributes, given)
        address = await self._claim_any(attributes, self._addresses, self._free(), _has_address)
        spec["clusterIP"], spec["clusterIPs"] = address, [address]
        return []

    async def _take_address(self, attributes: Attributes, given: str) -> list[FieldError]:
        try:
            is_ours = ipaddress.ip_address(given) in self._network
        except ValueError:
            return []  # judged by validation
        head = f"failed to allocate IP {given}: "
        if not is_ours:
            why = (
                f"{head}the provided IP ({given}) is not in the valid range. "
                f"The range of valid IPs is {self._network}"
            )
            return [field_error.invalid("spec.clusterIPs", [given], why)]
        try:
            await self._claim(attributes, self._addresses, given, _has_address)
        except _Taken:
            why = f"{head}provided IP is already allocated"
            return [field_error.invalid("spec.clusterIPs", [given], why)]
        return []

    async def _give_ports(
        self, attributes: Attributes, service: JsonObject, before: JsonObject
    ) -> AsyncIterator[FieldError]:
        spec = service.get("spec") or {}
        if not _wants_ports(spec):
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
                text = await self._claim_any(attributes, self._ports, _free_ports(), _has_port)
                port["nodePort"] = int(text)
            elif given not in kept:
                if given not in _PORTS:
                    why = (
                        "provided port is not in the valid range. "
                        f"The range of valid ports is {_PORTS[0]}-{_PORTS[-1]}"
                    )
                    yield field_error.invalid(at, given, why)
                    continue
                try:
                    await self._claim(attributes, self._ports, str(given), _has_port)
                except _Taken:
                    yield field_error.invalid(at, given, "provided port is already allocated")
        if _wants_health_port(spec) and not spec.get("healthCheckNodePort"):
            text = await self._claim_any(attributes, self._ports, _free_ports(), _has_port)
            spec["healthCheckNodePort"] = int(text)

    def _free(self) -> Iterator[str]:
        size = self._network.num_addresses
        while True:
            yield str(self._network[random.randrange(2, size - 1)])

    async def _claim_any(
        self, attributes: Attributes, claims: ResourceStore, values: Iterator[str], holds: Holds
    ) -> str:
        for _ in range(_ATTEMPTS):
            value = next(values)
            try:
                await self._claim(attributes, claims, value, holds)
            except _Taken:
                continue
            return value
        raise InternalError.of("failed to allocate a serviceIP: range is full")

    async def _claim(
        self, attributes: Attributes, claims: ResourceStore, value: str, holds: Holds
    ) -> None:
        """Raises _Taken."""
        assert attributes.obj is not None
        owner = f"{attributes.namespace}/{attributes.obj['metadata']['name']}"
        claim = json.encode({"metadata": {"owner": owner, "since": self._clock.now()}})
        if attributes.dry_run:
            return
        try:
            await claims.create(value, claim)
        except KeyExists as found:
            held_by = json.decode(found.current.value)["metadata"]
            # A service made anew under its old name takes up what it had before.
            if held_by["owner"] != owner and await self._is_held(held_by, value, holds):
                raise _Taken from found
            expected = found.current.revision

            def take_over(current: Any) -> Update:
                if current is None or current.revision != expected:
                    raise RevisionConflict(value, expected, current)
                return Update(claim)

            try:
                await claims.guaranteed_update(value, take_over)
            except RevisionConflict as lost:
                raise _Taken from lost

    async def _is_held(self, claim: JsonObject, value: str, holds: Holds) -> bool:
        stored = await self._services.store.get(claim["owner"])
        if stored is not None and holds(self._services.decode(stored), value):
            return True
        return bool(self._clock.now() - claim["since"] < _SETTLE_S)


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


def _wants_ports(spec: JsonObject) -> bool:
    if spec.get("type") == "LoadBalancer":
        return spec.get("allocateLoadBalancerNodePorts") is not False
    return spec.get("type") in _WITH_PORTS


def _wants_health_port(spec: JsonObject) -> bool:
    return spec.get("type") == "LoadBalancer" and spec.get("externalTrafficPolicy") == "Local"
