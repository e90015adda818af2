"""Deletes compacted rows in steps, and gives their space back to the disk.

On a full disk the steps are small and the write-ahead log is cut after each, because what a step
writes must have room in the log first.
"""

from __future__ import annotations

from proreus.server.storage.revision_index import RevisionIndex
from proreus.server.storage.sqlite.database import Database
from proreus.server.storage.sqlite.guard import Guard

_STEP = 1000
_STEP_WHEN_FULL = 50
_FREE_SHARE = 0.25  # of the file may stay free: new writes use it


class Garbage:
    """What the index has forgotten and the file still holds."""

    def __init__(self, index: RevisionIndex, guard: Guard) -> None:
        self._index = index
        self._guard = guard
        self._left: list[int] = []

    async def drop(self, compacted: int) -> None:
        """Delete what no reader at ``compacted`` or later needs; writes go on between steps."""
        while dropped := self._left or self._index.compact(compacted, limit=self._step):
            self._left = dropped  # kept for another try if the disk is full
            await self._delete(dropped)
            self._left = []
            await self._cut_log_if_full()
        while await self._shrink():
            await self._cut_log_if_full()

    @property
    def _step(self) -> int:
        return _STEP_WHEN_FULL if self._guard.is_full else _STEP

    async def _delete(self, revisions: list[int]) -> None:
        is_full = self._guard.is_full
        await self._guard.do(lambda database: database.drop(revisions, is_full=is_full))

    async def _shrink(self) -> bool:
        pages, keep_share = self._step, 0.0 if self._guard.is_full else _FREE_SHARE
        return await self._guard.do(lambda database: database.shrink(pages, keep_share))

    async def _cut_log_if_full(self) -> None:
        if self._guard.is_full:
            await self._guard.do(Database.cut_log)

    def __repr__(self) -> str:
        return f"<Garbage: {len(self._left)} rows refused at the last try>"
