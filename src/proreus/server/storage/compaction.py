"""Regular compaction: every five minutes, up to where the store was five minutes before.

So five to ten minutes of history can be read and watched, as in Kubernetes (server.md §3.5), or as
long as is asked for.
"""

from __future__ import annotations

import structlog

from proreus.aio.clock import Clock
from proreus.aio.gate import Gate
from proreus.server.storage.interface import COMPACTION_S, Storage, StorageError

_log = structlog.get_logger(__name__)


async def compact_regularly(
    storage: Storage, clock: Clock, interval_s: float = COMPACTION_S
) -> None:
    """Runs until cancelled. The only store of its file compacts it. 0: nobody does."""
    if not interval_s:
        await Gate().wait_open()
    seen = await storage.current_revision()
    while True:
        await clock.sleep(interval_s)
        now = await storage.current_revision()
        try:
            await storage.compact(seen)
        except StorageError as why:
            _log.warning("history not compacted, will try again", revision=seen, reason=str(why))
        else:
            seen = now
