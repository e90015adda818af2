"""What a store does beside serving: compact history, checkpoint when nothing is written, compare
values with their checksums, and see whether a full or read-only disk can be written to again."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import Protocol

from proreus.aio.clock import Clock
from proreus.server.storage.compaction import compact_regularly
from proreus.server.storage.health import Full, ReadOnly
from proreus.server.storage.interface import Storage, StorageError

_IDLE_S = 10.0
_SPACE_S = 5.0
VERIFY_S = 24 * 3600.0
_VERIFY_PAUSE_S = 0.1  # between two pieces: no request waits for it


class Maintained(Storage, Protocol):
    async def checkpoint(self) -> None: ...

    async def recover(self) -> None: ...

    async def watch_space(self) -> None: ...

    async def verify(self, after: int) -> int: ...


async def run(storage: Maintained, clock: Clock, compaction_s: float) -> None:
    """Runs until cancelled."""
    async with asyncio.TaskGroup() as parts:
        parts.create_task(compact_regularly(storage, clock, compaction_s), name="compact")
        parts.create_task(_checkpoint_when_idle(storage, clock), name="checkpoint")
        parts.create_task(_watch_space(storage, clock), name="space")
        parts.create_task(_verify_daily(storage, clock), name="verify")


async def _checkpoint_when_idle(storage: Maintained, clock: Clock) -> None:
    """Keep the write-ahead log short where no request waits for it, so that reopening is quick."""
    written = done = await storage.current_revision()
    while True:
        await clock.sleep(_IDLE_S)
        now = await storage.current_revision()
        if now == written and now != done:
            try:
                await storage.checkpoint()
                done = now
            except StorageError:
                pass  # the log keeps what the file has no room for; tried again when idle
        written = now


async def _watch_space(storage: Maintained, clock: Clock) -> None:
    while True:
        await clock.sleep(_SPACE_S)
        with suppress(StorageError):  # it lasts; its beginning was logged
            if isinstance(storage.health, Full | ReadOnly):
                await storage.recover()
            else:
                await storage.watch_space()


async def _verify_daily(storage: Maintained, clock: Clock) -> None:
    """Find damage in values that are rarely read, before their copies in backups are gone."""
    while True:
        await clock.sleep(VERIFY_S)
        reached = 0
        with suppress(StorageError):
            while reached := await storage.verify(reached):
                await clock.sleep(_VERIFY_PAUSE_S)
