"""Waits until something holds that no watch can tell: for tests and scripts.

await eventually(lambda: len(seen) == 3)
pod = await eventually(lambda: client.core_v1.pods("default").get("web"))
"""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable
from typing import TypeVar, overload

from proreus.aio.clock import Clock, SystemClock, deadline
from proreus.api.status import NotFound

T = TypeVar("T")


@overload
async def eventually(
    look: Callable[[], Awaitable[T | None]],
    *,
    timeout_s: float = 60.0,
    every_s: float = 0.05,
    clock: Clock | None = None,
) -> T: ...
@overload
async def eventually(
    look: Callable[[], T | None],
    *,
    timeout_s: float = 60.0,
    every_s: float = 0.05,
    clock: Clock | None = None,
) -> T: ...
async def eventually(
    look: Callable[[], object],
    *,
    timeout_s: float = 60.0,
    every_s: float = 0.05,
    clock: Clock | None = None,
) -> object:
    """The first answer of ``look`` that is true. ``AssertionError`` and ``NotFound`` mean not yet.

    Raises ``TimeoutError`` with the last answer or failure, and whatever else ``look`` raises.
    """
    clock, last = clock or SystemClock(), "it was not asked"
    try:
        async with deadline(clock, timeout_s):
            while True:
                try:
                    found = look()
                    if inspect.isawaitable(found):
                        found = await found
                    if found:
                        return found
                    last = repr(found)
                except (AssertionError, NotFound) as not_yet:
                    last = repr(not_yet)
                await clock.sleep(every_s)
    except TimeoutError as late:
        raise TimeoutError(f"not within {timeout_s:g} s, at last: {last}") from late
