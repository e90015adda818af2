"""Tasks that synchronous code starts, owned by one part that runs for ever."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any


class StartedTasks:
    """``run`` owns what ``start`` starts, and cancels it when it is cancelled itself."""

    def __init__(self) -> None:
        self._group: asyncio.TaskGroup | None = None

    def start(self, work: Coroutine[Any, Any, None]) -> None:
        """Before ``run`` and after it nothing is done: nobody would end the task."""
        if self._group is None:
            work.close()
        else:
            self._group.create_task(work)

    async def run(self) -> None:
        """For ever."""
        try:
            async with asyncio.TaskGroup() as group:
                self._group = group
                await asyncio.Event().wait()
        finally:
            self._group = None

    def __repr__(self) -> str:
        return f"<StartedTasks {'running' if self._group is not None else 'not running'}>"
