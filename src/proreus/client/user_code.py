"""Calls of functions that users hand in: handlers, predicates, transforms, index functions.

What they raise is logged and counted here and goes no further, so that one bad callback neither
stops the cache nor another callback (docs/guarantees.md, "nothing starves"). A ``CancelledError``
counts as raised by the function unless the current task has been cancelled; a real cancellation
always passes.
"""

from __future__ import annotations

import asyncio
import inspect
import logging
from collections.abc import Awaitable, Callable
from typing import ParamSpec, TypeVar

from proreus.aio.tasks import raise_if_cancelled

log = logging.getLogger(__name__)

P = ParamSpec("P")
R = TypeVar("R")


class UserCode:
    """One role of user code (``handler audit``, ``transform``) and how often it failed."""

    __slots__ = ("failure_count", "role")

    def __init__(self, role: str) -> None:
        self.role = role
        self.failure_count = 0

    def call(self, default: R, function: Callable[P, R], /, *args: P.args, **kwargs: P.kwargs) -> R:
        """What ``function`` returns, or ``default`` if it raises."""
        try:
            return function(*args, **kwargs)
        except (Exception, asyncio.CancelledError) as failure:
            self.failed(failure)
            return default

    def begin(self, function: Callable[..., object], *args: object) -> Awaitable[object] | None:
        """Call ``function``; if it is asynchronous, what ``finish`` must wait for. Most are plain,
        and then there is nothing to wait for."""
        try:
            result = function(*args)
        except (Exception, asyncio.CancelledError) as failure:
            self.failed(failure)
            return None
        return result if result is not None and inspect.isawaitable(result) else None

    async def finish(self, begun: Awaitable[object]) -> None:
        try:
            await begun
        except (Exception, asyncio.CancelledError) as failure:
            self.failed(failure)

    def failed(self, failure: BaseException) -> None:
        """It raised this, where it was called by someone else."""
        raise_if_cancelled(failure)
        self.failure_count += 1
        log.error(
            "user code failed: role=%s failures=%d", self.role, self.failure_count, exc_info=failure
        )
