"""The border to functions that users hand in: handlers, transforms, index functions.

What they raise is logged and counted here and goes no further, so that one bad callback neither
stops the cache nor another callback (docs/guarantees.md, "nothing starves"). This is the only place
in the informer that catches ``Exception``; cancellation always passes.
"""

from __future__ import annotations

import inspect
import logging
from collections.abc import Callable
from typing import ParamSpec, TypeVar

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
        except Exception:
            self._failed()
            return default

    async def run(
        self, function: Callable[P, object], /, *args: P.args, **kwargs: P.kwargs
    ) -> None:
        """Call ``function`` and, if it is asynchronous, wait for its end."""
        try:
            result = function(*args, **kwargs)
            if inspect.isawaitable(result):
                await result
        except Exception:
            self._failed()

    def _failed(self) -> None:
        self.failure_count += 1
        log.exception("user code failed: role=%s failures=%d", self.role, self.failure_count)
