"""When history is forgotten: every five minutes, up to where the store was five minutes before.

So five to ten minutes of history can be read and watched, as in Kubernetes (spec/server §3.5).
"""

from __future__ import annotations

from proreus.aio.clock import Clock
from proreus.server.storage.interface import Storage

INTERVAL_S = 300.0


async def compact_regularly(storage: Storage, clock: Clock, interval_s: float = INTERVAL_S) -> None:
    """Runs until cancelled. The only store of its file: nobody else compacts it."""
    seen = await storage.current_revision()
    while True:
        await clock.sleep(interval_s)
        now = await storage.current_revision()
        await storage.compact(seen)
        seen = now
