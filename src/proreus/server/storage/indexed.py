"""Reads that a store answers from memory, because it is the only writer of its data.

It knows every key and its revisions (``revision_index``) and every recent change (``change_log``)
without reading values. ``memory`` and ``sqlite`` are such stores; etcd is written by others too.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from proreus.server.storage.change_log import ChangeLog, LogWatch, Position
from proreus.server.storage.interface import ChangeBatch, Compacted, FutureRevision
from proreus.server.storage.keyspace import check_prefix
from proreus.server.storage.revision_index import RevisionIndex
from proreus.server.storage.revision_times import RevisionTimes


class IndexedStorage(ABC):
    """The part of ``interface.Storage`` that needs no values. States before ``compacted_revision``
    cannot be read any more."""

    def __init__(self, index: RevisionIndex, revision: int, compacted: int) -> None:
        self._index = index
        self._log = ChangeLog(revision)
        self._compacted = compacted
        self._commits = RevisionTimes()

    def is_newest(self, key: str, revision: int) -> bool:
        return revision > 0 and self._index.live(key) == revision

    async def count(self, prefix: str) -> int:
        check_prefix(prefix)
        return self._index.count(prefix)

    async def current_revision(self) -> int:
        return self._log.revision

    @asynccontextmanager
    async def watch(
        self, prefix: str, *, after: int, with_old: bool = True
    ) -> AsyncIterator[AsyncIterator[ChangeBatch]]:
        check_prefix(prefix)
        if after < self._compacted:
            raise Compacted(after, self._compacted)
        position = self._log.open(prefix, after)
        try:
            yield LogWatch(self._log, position, self._read_past)
        finally:
            self._log.close(position)

    async def request_progress(self) -> None:
        self._log.request_progress()

    def committed_at(self, revision: int) -> float | None:
        return self._commits.at(revision)

    @property
    def compacted_revision(self) -> int:
        return self._compacted

    def _check_reached(self, revision: int) -> None:
        if revision > self._log.revision:
            raise FutureRevision(revision, self._log.revision)

    def _check_readable(self, revision: int) -> None:
        """0 is the newest state, which always is."""
        self._check_reached(revision)
        if 0 < revision < self._compacted:
            raise Compacted(revision, self._compacted)

    @abstractmethod
    async def _read_past(self, position: Position) -> ChangeBatch:
        """The next changes after a position that the log does not hold any more."""
