"""Asking a storage how far its watches are, until whoever waits for it knows.

etcd leaves a request unanswered while a watch on its connection is still catching up, so one
request is not enough.
"""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from proreus.aio.clock import Clock
from proreus.aio.tasks import beside
from proreus.server.storage.interface import Storage, StorageError

PROGRESS_EVERY_S = 0.1


@asynccontextmanager
async def asking_for_progress(storage: Storage, clock: Clock) -> AsyncIterator[None]:
    """Open watches say how far they are, again and again while the body runs. Raises StorageError
    if the first request fails; after it the watches themselves report an outage."""
    await storage.request_progress()
    async with beside(_ask_again(storage, clock), name="storage: progress", ended=lambda: None):
        yield


async def _ask_again(storage: Storage, clock: Clock) -> None:
    while True:
        await clock.sleep(PROGRESS_EVERY_S)
        with contextlib.suppress(StorageError):
            await storage.request_progress()
