"""Tasks that are cancelled together: streams and the like, which would not end by themselves."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any


class CurrentTasks:
    """Who owns them may ``cancel_all``: to shut down, all streams must end."""

    def __init__(self) -> None:
        self._tasks: set[asyncio.Task[Any]] = set()

    @contextmanager
    def counted(self) -> Iterator[None]:
        """The current task, while the body of the ``with`` lasts."""
        task = asyncio.current_task()
        assert task is not None, "called in a task"
        self._tasks.add(task)
        try:
            yield
        finally:
            self._tasks.discard(task)

    def __len__(self) -> int:
        return len(self._tasks)

    def cancel_all(self) -> None:
        for task in self._tasks:
            task.cancel()

    def __repr__(self) -> str:
        return f"<CurrentTasks: {len(self._tasks)}>"
