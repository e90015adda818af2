"""Tries a read-modify-write again when another writer was faster."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TypeVar

from proreus.aio.clock import Clock, SystemClock
from proreus.api.status import Conflict

T = TypeVar("T")

TRIES = 5  # client-go's
_PAUSE_S = 0.01


async def retry_on_conflict(
    attempt: Callable[[], Awaitable[T]],
    *,
    tries: int = TRIES,
    before_retry: Callable[[], Awaitable[None]] | None = None,
    clock: Clock | None = None,
) -> T:
    """What ``attempt`` returns. It must read what it changes, unless ``before_retry`` does.

    Raises ``Conflict`` after the last try, and anything else at once.
    """
    for tried in range(1, tries + 1):
        try:
            return await attempt()
        except Conflict:
            if tried >= tries:
                raise
        await (clock or SystemClock()).sleep(_PAUSE_S * tried)
        if before_retry is not None:
            await before_retry()
    raise ValueError("at least one try is needed")
