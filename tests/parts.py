"""Parts that run while a test does."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Awaitable, Coroutine
from typing import Any


@contextlib.asynccontextmanager
async def running_part(part: Coroutine[Any, Any, None]) -> AsyncIterator[None]:
    """Beside the body, at the end of which it must still run; then it is cancelled."""
    task = asyncio.ensure_future(part)
    try:
        yield
        assert not task.done(), task
    finally:
        task.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await task


async def wait_first(*waits: Awaitable[object]) -> None:
    """Until one of them is done; the others are cancelled."""
    tasks = [asyncio.ensure_future(wait) for wait in waits]
    try:
        await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
