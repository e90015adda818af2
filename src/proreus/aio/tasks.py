"""Long-lived parts and who looks after them.

A part is an ``async def run()`` that ends only by cancellation. ``supervise`` restarts one that
dies, with back-off, and says so each time: a part is alive or loud, never silently gone.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine
from typing import Any

from proreus.aio.backoff import Backoff
from proreus.aio.clock import Clock

Part = Callable[[], Awaitable[None]]
Died = Callable[[str, BaseException | None, float], None]  # part, why (None: returned), delay


async def supervise(name: str, run: Part, *, clock: Clock, backoff: Backoff, died: Died) -> None:
    """Keep ``run`` running for ever. Only cancellation ends it."""
    while True:
        why: BaseException | None = None
        try:
            await run()
        except Exception as failure:
            why = failure
        delay_s = backoff.next()
        died(name, why, delay_s)
        await clock.sleep(delay_s)


@contextlib.asynccontextmanager
async def background(*parts: Awaitable[None]) -> AsyncIterator[asyncio.TaskGroup]:
    """Run parts beside the body and cancel them when it ends; a part's failure ends the body."""
    async with asyncio.TaskGroup() as group:
        tasks = [group.create_task(_as_coroutine(part)) for part in parts]
        try:
            yield group
        finally:
            for task in tasks:
                task.cancel()


def _as_coroutine(part: Awaitable[None]) -> Coroutine[Any, Any, None]:
    """As it is if it is one: a task cancelled before its first step would never await another."""
    return part if isinstance(part, Coroutine) else _waiting_for(part)


async def _waiting_for(part: Awaitable[None]) -> None:
    await part
