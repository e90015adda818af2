"""Claims on addresses and ports, each one key in storage.

A key that can be created only once is a lock that every server on the same storage respects.
Addresses are IPAddress objects, as Kubernetes keeps them and users can list; ports have keys of
their own. A claim names its service. If a server dies between claiming and writing, the claim is
an orphan: its service does not exist or does not use it. It is taken over once it is older than
any write can take.
"""

from __future__ import annotations

from typing import Any
from uuid import uuid4

import orjson

from proreus.aio.clock import Clock
from proreus.api.values.timestamp import format_time, parse_time
from proreus.server.schema.allocation.needs import held
from proreus.server.storage.interface import KeyExists, RevisionConflict, Storage, StoredValue

ADDRESSES = "/registry/ipaddresses/"
PORTS = "/registry/ranges/servicenodeports/"
_SERVICES = "/registry/services/specs/"
_ORPHAN_AFTER_S = 120.0


class Claims:
    """Claims made for one service."""

    def __init__(self, storage: Storage, clock: Clock, namespace: str, name: str) -> None:
        self._storage = storage
        self._clock = clock
        self._namespace = namespace
        self._name = name

    async def claim_address(self, address: str) -> bool:
        """False if another service has it."""
        metadata = {
            "name": address,
            "uid": str(uuid4()),
            "creationTimestamp": format_time(self._clock.now()),
            "labels": {
                "ipaddress.kubernetes.io/ip-family": "IPv4",
                "ipaddress.kubernetes.io/managed-by": "ipallocator.k8s.io",
            },
        }
        parent = {"resource": "services", "namespace": self._namespace, "name": self._name}
        value = {"metadata": metadata, "spec": {"parentRef": parent}}
        return await self._claim(f"{ADDRESSES}{address}", value)

    async def claim_port(self, number: int) -> bool:
        metadata = {"creationTimestamp": format_time(self._clock.now())}
        parent = {"resource": "services", "namespace": self._namespace, "name": self._name}
        value = {"metadata": metadata, "spec": {"parentRef": parent}}
        return await self._claim(f"{PORTS}{number}", value)

    async def release_address(self, address: str) -> None:
        await self._release(f"{ADDRESSES}{address}")

    async def release_port(self, number: int) -> None:
        await self._release(f"{PORTS}{number}")

    async def used_addresses(self) -> frozenset[str]:
        return await self._used(ADDRESSES)

    async def used_ports(self) -> frozenset[str]:
        return await self._used(PORTS)

    async def _used(self, prefix: str) -> frozenset[str]:
        page = await self._storage.list(prefix)
        return frozenset(item.key.removeprefix(prefix) for item in page.items)

    async def _claim(self, key: str, value: dict[str, Any]) -> bool:
        text = orjson.dumps(value)
        try:
            await self._storage.create(key, text)
        except KeyExists as taken:
            return await self._take_over(taken.current, text)
        return True

    async def _take_over(self, found: StoredValue, text: bytes) -> bool:
        if not await self._is_orphan(found):
            return False
        try:
            await self._storage.update(found.key, text, expected=found.revision)
        except RevisionConflict:
            return False  # somebody else was quicker
        return True

    async def _is_orphan(self, claim: StoredValue) -> bool:
        content = orjson.loads(claim.value)
        parent = (content.get("spec") or {}).get("parentRef") or {}
        made = (content.get("metadata") or {}).get("creationTimestamp")
        if made is None or self._clock.now() - parse_time(made) < _ORPHAN_AFTER_S:
            return False
        key = f"{_SERVICES}{parent.get('namespace')}/{parent.get('name')}"
        service = await self._storage.get(key)
        if service is None:
            return True
        uses = held(orjson.loads(service.value))
        name = claim.key.rpartition("/")[2]
        return name not in uses.addresses and name not in {str(port) for port in uses.ports}

    async def _release(self, key: str) -> None:
        """Give back what is still this service's; somebody else's claim is left alone."""
        found = await self._storage.get(key)
        if found is None:
            return
        parent = (orjson.loads(found.value).get("spec") or {}).get("parentRef") or {}
        if (parent.get("namespace"), parent.get("name")) != (self._namespace, self._name):
            return
        try:
            await self._storage.delete(key, expected=found.revision)
        except RevisionConflict:
            return  # released by another server meanwhile
