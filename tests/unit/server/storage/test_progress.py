"""Who waits to hear how far a storage's watches are asks until it is told."""

from __future__ import annotations

import asyncio

import pytest

from proreus.server.storage.interface import Unavailable
from proreus.server.storage.memory import MemoryStorage
from proreus.server.storage.progress import PROGRESS_EVERY_S, asking_for_progress
from proreus.testing.virtual_clock import VirtualClock
from tests.watching import InterruptibleStorage


async def test_a_request_that_is_left_unanswered_is_made_again() -> None:
    """etcd answers none while a watch on the same connection is catching up."""
    clock = VirtualClock()
    async with MemoryStorage.open(clock) as memory:
        storage = InterruptibleStorage(memory)
        async with asking_for_progress(storage, clock):
            asked = [storage.progress_requests]
            for _ in range(3):
                await clock.advance(PROGRESS_EVERY_S)
                asked.append(storage.progress_requests)
        await clock.advance(10 * PROGRESS_EVERY_S)

    assert asked == [1, 2, 3, 4]
    assert storage.progress_requests == 4


async def test_a_storage_that_cannot_be_asked_is_reported_at_once() -> None:
    clock = VirtualClock()
    async with MemoryStorage.open(clock) as memory:
        storage = InterruptibleStorage(memory)
        storage.progress_error = Unavailable("no quorum")

        with pytest.raises(Unavailable, match="no quorum"):
            async with asking_for_progress(storage, clock):
                raise AssertionError("nothing is waited for")


async def test_an_outage_meanwhile_does_not_end_the_asking() -> None:
    clock = VirtualClock()
    async with MemoryStorage.open(clock) as memory:
        storage = InterruptibleStorage(memory)
        async with asking_for_progress(storage, clock):
            storage.progress_error = Unavailable("no quorum")
            await clock.advance(PROGRESS_EVERY_S)
            storage.progress_error = None
            async with memory.watch("/registry/", after=0) as batches:
                waiting = asyncio.ensure_future(anext(batches))
                await clock.advance(PROGRESS_EVERY_S)
                batch = await waiting

    assert (batch.changes, batch.revision) == ((), await memory.current_revision())
