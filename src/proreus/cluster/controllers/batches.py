"""Many writes of one kind: slow start, in batches that double, or all with bounded concurrency."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import TypeVar

from proreus.api.status import ApiError
from proreus.net.client.transport_error import TransportError

T = TypeVar("T")
Failure = ApiError | TransportError
BURST = 500  # how many pods one reconcile may create or delete
_AT_ONCE = 64


async def slow_start(items: Sequence[T], act: Callable[[T], Awaitable[None]]) -> list[Failure]:
    """1, 2, 4, … at once; a batch with a failure is the last, so that what cannot work is not
    tried hundreds of times."""
    size, start = 1, 0
    while start < len(items):
        failures = await concurrently(items[start : start + size], act)
        if failures:
            return failures
        start, size = start + size, min(size * 2, _AT_ONCE)
    return []


async def concurrently(items: Sequence[T], act: Callable[[T], Awaitable[None]]) -> list[Failure]:
    """All of them, a bounded number at a time; the failures."""
    failures: list[Failure] = []
    turn = asyncio.Semaphore(_AT_ONCE)

    async def one(item: T) -> None:
        async with turn:
            try:
                await act(item)
            except (ApiError, TransportError) as failure:
                failures.append(failure)

    async with asyncio.TaskGroup() as group:
        for item in items:
            group.create_task(one(item))
    return failures
