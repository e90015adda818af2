"""A task for each pod that something is looked up for, until it has an answer or the pod goes."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine


class PodTasks:
    """``group`` owns the tasks."""

    def __init__(self, group: asyncio.TaskGroup) -> None:
        self._group = group
        self._tasks: dict[str, asyncio.Task[None]] = {}

    def __contains__(self, uid: str) -> bool:
        return uid in self._tasks

    def start(self, uid: str, name: str, work: Coroutine[None, None, None]) -> None:
        self._tasks[uid] = self._group.create_task(work, name=name)

    def cancel(self, uid: str) -> None:
        task = self._tasks.pop(uid, None)
        if task is not None:
            task.cancel()

    def cancel_all(self) -> None:
        for uid in list(self._tasks):
            self.cancel(uid)
