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
# Each needs a connection of its own, whose handshake costs more than its requests.
_AT_ONCE = 16


async def slow_start(items: Sequence[T], act: Callable[[T], Awaitable[None]]) -> list[Failure]:
    """1, 2, 4, … at once; after a failure none is begun, so that what cannot work is not tried
    hundreds of times."""
    size, start = 1, 0
    while start < len(items):
        is_last = size >= _AT_ONCE
        batch = items[start:] if is_last else items[start : start + size]
        if failures := await _all(batch, act, stops_at_failure=is_last):
            return failures
        start, size = start + len(batch), size * 2
    return []


async def concurrently(items: Sequence[T], act: Callable[[T], Awaitable[None]]) -> list[Failure]:
    """All of them, a bounded number at a time; the failures."""
    return await _all(items, act)


async def _all(
    items: Sequence[T], act: Callable[[T], Awaitable[None]], *, stops_at_failure: bool = False
) -> list[Failure]:
    failures: list[Failure] = []
    left = iter(items)

    async def work() -> None:
        for item in left:
            try:
                await act(item)
            except (ApiError, TransportError) as failure:
                failures.append(failure)
            if failures and stops_at_failure:
                return

    async with asyncio.TaskGroup() as workers:
        for _ in range(min(_AT_ONCE, len(items))):
            workers.create_task(work())
    return failures
