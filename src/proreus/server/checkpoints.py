"""The state of a running server, kept and brought back: for tests.

A checkpoint holds pointers to all that was stored. Bringing it back costs what has changed since:
requests and watches under way are broken off, storage is what it was, revision included, and the
watch caches and all that follows them (roles, definitions, policies) are told of the keys that
differ. Connections that wait for a request stay.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from proreus.lazy_dataclass import dataclass
from proreus.net.http1.server import HttpServer
from proreus.server.watch_cache.caches import WatchCaches

if TYPE_CHECKING:
    from proreus.server.storage.memory import MemoryStorage, StoreCheckpoint


@dataclass(frozen=True, slots=True)
class Checkpoints:
    """``memory``: its storage, if it was given one in memory."""

    caches: WatchCaches
    http: HttpServer
    memory: MemoryStorage | None

    async def checkpoint(self) -> StoreCheckpoint:
        """Of all that has been written so far. Raises ValueError."""
        memory = self._memory()
        await self._wait_applied(memory)
        return memory.checkpoint()

    async def restore(self, checkpoint: StoreCheckpoint) -> None:
        """Raises ValueError."""
        memory = self._memory()
        await self.http.break_off()
        await self._wait_applied(memory)
        # No await from here to the end: who reads sees one state or the other.
        changed = memory.differences(checkpoint)
        memory.set_back(checkpoint)
        self.caches.set_back(changed, checkpoint.revision)

    def _memory(self) -> MemoryStorage:
        if self.memory is None:
            raise ValueError("only a server whose storage is in memory has checkpoints")
        return self.memory

    async def _wait_applied(self, memory: MemoryStorage) -> None:
        """Until the caches show what is stored. Needs no deadline: nothing is loaded from anywhere
        but memory, and who writes is this server alone."""
        while self.caches.is_loading:  # noqa: ASYNC110 - the load is a few turns of the loop
            await asyncio.sleep(0)
        await self.caches.wait_for(await memory.current_revision())
