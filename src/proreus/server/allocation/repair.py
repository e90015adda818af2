"""Keeps services and IPAddress objects in agreement, and the range that addresses come from.

A service whose IPAddress was lost gets it again at once; an IPAddress of a service that is gone (a
crash between two writes) is removed once it cannot belong to a create under way. Who follows the
caches knows of losses; every three minutes everything is compared, in case one went unseen.

Cost of a comparison: about 3 µs per address, in slices.
"""

from __future__ import annotations

import asyncio
from contextlib import suppress
from functools import cache

import structlog

from proreus.aio.clock import Clock, deadline
from proreus.aio.supervised_part import Worked
from proreus.api.json_types import JsonObject
from proreus.api.wire import splice
from proreus.server.allocation.claim_records import ALLOCATOR, MANAGED_BY, NETWORKING
from proreus.server.allocation.claims import Claims, Taken
from proreus.server.allocation.service_ranges import DEFAULT, SERVICE_NETWORK
from proreus.server.registry.collections import Collections
from proreus.server.registry.server_objects import CREATED, ObjectSet, ServerObject, keep
from proreus.server.storage.interface import StoredValue
from proreus.server.watch_cache.cache_follower import CacheFollower
from proreus.server.watch_cache.object import CachedObject

_log = structlog.get_logger(__name__)
_COMPARE_S = 180.0
_PER_TURN = 500
_UNREADABLE = "IPAddress is unreadable and keeps its address"


class AddressRepair:
    """See the module."""

    def __init__(self, collections: Collections, clock: Clock) -> None:
        self._collections = collections
        self._services = collections.named("", "v1", "services").cache
        self._addresses = collections.named(NETWORKING, "v1", "ipaddresses").cache
        self._clock = clock
        self._lost: dict[str, str] = {}  # addresses to be claimed again, with their services
        self._wake = asyncio.Event()

    def follow(self) -> None:
        self._addresses.follow(
            CacheFollower(lambda: None, lambda found: None, self._removed, _UNREADABLE)
        )

    def note_range_lost(self) -> None:
        self._wake.set()

    async def run(self, claims: Claims, worked: Worked) -> None:
        """For ever; ``worked`` is called when everything has been compared. Raises StorageError."""
        while True:
            await self._compare(claims)
            worked()
            with suppress(TimeoutError):
                async with deadline(self._clock, _COMPARE_S):
                    while True:
                        await self._wake.wait()
                        self._wake.clear()
                        await default_ranges().ensure(self._collections, self._clock.now())
                        await self._restore(claims)

    def _removed(self, found: CachedObject) -> None:
        """A release comes after the write that takes the address from its service."""
        parent = (splice.decode_item(found.item).get("spec") or {}).get("parentRef") or {}
        owner = f"{parent.get('namespace')}/{parent.get('name')}"
        service = self._services.peek(owner)
        if service is not None and service.fields.get("spec.clusterIP") == found.name:
            self._lost[found.name] = owner
            self._wake.set()

    async def _restore(self, claims: Claims) -> None:
        while self._lost:
            address, owner = self._lost.popitem()
            if not await claims.is_had(address, owner):
                continue
            try:
                await claims.take(address, owner)
            except Taken:
                _log.error(
                    "a cluster address was given to several services; make one of them anew",
                    address=address, service=owner,
                )  # fmt: skip
            else:
                _log.warning("claimed a cluster address again", address=address, service=owner)

    async def _compare(self, claims: Claims) -> None:
        await default_ranges().ensure(self._collections, self._clock.now())
        had = {
            service.fields.get("spec.clusterIP") or "": service.key
            for service in self._services.peek_all() or ()
        }
        for address, owner in had.items():
            if address not in ("", "None") and self._addresses.peek(address) is None:
                self._lost[address] = owner
        await self._restore(claims)
        for count, found in enumerate(self._addresses.peek_all() or (), 1):
            if found.labels.get(MANAGED_BY) == ALLOCATOR and found.name not in had:
                await self._release(claims, found)
            if count % _PER_TURN == 0:
                await asyncio.sleep(0)

    async def _release(self, claims: Claims, found: CachedObject) -> None:
        stored = StoredValue(found.key, splice.stored_from_item(found.item), found.revision)
        if await claims.release_if_orphaned(stored):
            _log.warning("released a cluster address that no service has", address=found.name)


def default_ranges() -> ObjectSet:
    """The range that every cluster has."""
    return ObjectSet((_default_range(),), keep)


@cache
def _default_range() -> ServerObject:
    ready = {
        "type": "Ready",
        "status": "True",
        "reason": "",
        "message": "Kubernetes default Service CIDR is ready",
        "lastTransitionTime": CREATED,
    }
    wanted: JsonObject = {
        "apiVersion": f"{NETWORKING}/v1",
        "kind": "ServiceCIDR",
        "metadata": {"name": DEFAULT},
        "spec": {"cidrs": [str(SERVICE_NETWORK)]},
        "status": {"conditions": [ready]},
    }
    return ServerObject.of("servicecidrs", wanted)
