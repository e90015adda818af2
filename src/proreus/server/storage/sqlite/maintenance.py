"""What a store does beside serving: compact history, and checkpoint when nothing is written."""

from __future__ import annotations

import asyncio
from typing import Protocol

from proreus.aio.clock import Clock
from proreus.server.storage.compaction import compact_regularly
from proreus.server.storage.interface import Storage, StorageFull

_IDLE_S = 10.0


class Checkpointed(Storage, Protocol):
    async def checkpoint(self) -> None: ...


async def run(storage: Checkpointed, clock: Clock) -> None:
    """Runs until cancelled."""
    async with asyncio.TaskGroup() as parts:
        parts.create_task(compact_regularly(storage, clock), name="compact")
        parts.create_task(_checkpoint_when_idle(storage, clock), name="checkpoint")


async def _checkpoint_when_idle(storage: Checkpointed, clock: Clock) -> None:
    """Keep the write-ahead log short where it costs nobody a wait, so that reopening is quick."""
    written = done = await storage.current_revision()
    while True:
        await clock.sleep(_IDLE_S)
        now = await storage.current_revision()
        if now == written and now != done:
            try:
                await storage.checkpoint()
                done = now
            except StorageFull:
                pass  # the log keeps what the file has no room for; tried again when idle
        written = now
