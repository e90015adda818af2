"""Which servers of one etcd are alive: a record each, which is gone when it is not renewed.

kube-apiserver keeps them under the same prefix, ``masterleases``, one per address.
"""

from __future__ import annotations

from contextlib import suppress

from proreus.aio.clock import Clock
from proreus.api.wire import json
from proreus.server.storage.interface import KeyNotFound, StoredValue
from proreus.server.storage.resource_stores import ResourceStores

_LASTS_S = 15.0
_SERVERS_MAX = 1000


class LiveServers:
    """``address`` "": of a server that has none to publish."""

    def __init__(self, stores: ResourceStores, clock: Clock, address: str) -> None:
        self._store = stores.store("masterleases")
        self._clock = clock
        self.address = address

    async def renew(self) -> list[str]:
        """The addresses of all that are alive, this one among them. Raises StorageError."""
        if self.address:
            record = json.encode({"metadata": {"name": self.address, "at": self._clock.now()}})

            async def renewed(_: StoredValue | None) -> bytes:
                return record

            await self._store.guaranteed_update(
                self.address, renewed, ttl_s=_LASTS_S, ignore_not_found=True
            )
        return await self._list()

    async def withdraw(self) -> list[str]:
        """The addresses of the others. Raises StorageError."""
        if self.address:
            with suppress(KeyNotFound):
                await self._store.delete(self.address)
        return await self._list()

    async def _list(self) -> list[str]:
        page = await self._store.list(limit=_SERVERS_MAX)
        return sorted(found.key for found in page.items)


class OnlyServer:
    """Of a store that no other server can open."""

    def __init__(self, address: str) -> None:
        self.address = address

    async def renew(self) -> list[str]:
        return [self.address] if self.address else []

    async def withdraw(self) -> list[str]:
        return []
