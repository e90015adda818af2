"""Threads for blocking calls that return something, used from the loop: as many as calls at once.

A thread is used again once its call has returned. The calls run in the context of who makes them,
so that a leader's fence holds there too.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import TypeVar

from proreus.blocking.worker_thread import WorkerThread

R = TypeVar("R")


class WorkerThreads:
    """One event loop uses it. How many calls there are at once is the caller's to bound."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._free: list[WorkerThread] = []
        self._is_closed = False

    async def run(self, function: Callable[[], R]) -> R:
        """Cancelled, it stops waiting, and the call goes on."""
        worker = self._free.pop() if self._free else WorkerThread(self._name)
        loop, results = asyncio.get_running_loop(), list[R]()

        def call() -> None:
            try:
                results.append(function())
            finally:
                loop.call_soon_threadsafe(self._returned, worker)

        await worker.run(call)
        return results[0]

    def close(self) -> None:
        """End the threads; one with a call under way ends when that returns."""
        self._is_closed = True
        while self._free:
            self._free.pop().close()

    def _returned(self, worker: WorkerThread) -> None:
        if self._is_closed:
            worker.close()
        else:
            self._free.append(worker)
