"""When requests have taken too long: one look around per second instead of a timer per request.

A request that has its answer in time, as nearly all do, pays for a dictionary entry.
"""

from __future__ import annotations

import asyncio

from proreus.aio.clock import Clock

_LOOK_S = 1.0


class Entry:
    """One request under way; ``is_over`` once it was cancelled for its lateness."""

    __slots__ = ("ends", "is_over", "task")

    def __init__(self, task: asyncio.Task[object], ends: float) -> None:
        self.task = task
        self.ends = ends
        self.is_over = False


class Deadlines:
    """Made in the loop its requests run in, whose current task is then known without asking."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._loop = asyncio.get_running_loop()
        self._entries: dict[int, Entry] = {}

    def begin(self, limit_s: float) -> Entry:
        """From here on the current task has ``limit_s``; always ``end`` it."""
        task = asyncio.current_task(self._loop)
        assert task is not None, "a request is handled in a task"
        entry = Entry(task, self._clock.monotonic() + limit_s)
        self._entries[id(entry)] = entry
        return entry

    def end(self, entry: Entry) -> None:
        self._entries.pop(id(entry), None)

    def is_cause(self, entry: Entry) -> bool:
        """Whether a cancellation was ours alone; then it is taken back, to be told as a timeout."""
        return entry.is_over and entry.task.uncancel() == 0

    async def run(self) -> None:
        while True:
            await self._clock.sleep(_LOOK_S)
            now = self._clock.monotonic()
            for entry in [e for e in self._entries.values() if e.ends <= now]:
                self.end(entry)
                entry.is_over = True
                entry.task.cancel()
