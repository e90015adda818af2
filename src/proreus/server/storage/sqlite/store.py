"""Storage in one SQLite file: durable, fast, without a server (the default).

Receives: writes, from ``resource_store``.  Hands on: Change, to ``change_log``, once committed.
Invariant: what a reader or a watch sees is on disk; a watch sees a write not later than its writer.

The event loop decides (``pending``), a thread writes (``writer``), the loop publishes and answers.
Values stay on disk: memory holds the index only, the watch cache above holds the bytes. See
DESIGN.md beside this file.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import ExitStack, asynccontextmanager, suppress
from pathlib import Path
from typing import TypeVar

from proreus.aio.clock import Clock
from proreus.aio.debounce import Debounce
from proreus.server.storage.change_log import Position
from proreus.server.storage.health import Broken, Health, Healthy, ReadOnly, readiness
from proreus.server.storage.indexed import IndexedStorage
from proreus.server.storage.interface import (
    COMPACTION_S,
    ChangeBatch,
    Compacted,
    KeyExists,
    OldValue,
    Page,
    PastValue,
    RevisionConflict,
    StorageBroken,
    StorageError,
    StorageFull,
    StorageReadOnly,
    StoredValue,
    Ttl,
    Unavailable,
)
from proreus.server.storage.keyspace import check_key, check_prefix
from proreus.server.storage.sqlite import maintenance
from proreus.server.storage.sqlite.changes import change_of, committed_change
from proreus.server.storage.sqlite.commit_watch import CommitWatch
from proreus.server.storage.sqlite.database import Database, Synchronous
from proreus.server.storage.sqlite.expiry import Expiries
from proreus.server.storage.sqlite.garbage import Garbage
from proreus.server.storage.sqlite.guard import Guard
from proreus.server.storage.sqlite.lock_file import locked
from proreus.server.storage.sqlite.pending import PendingWrite, PendingWrites
from proreus.server.storage.sqlite.row_reader import RowReader
from proreus.server.storage.sqlite.rows import FileContents, Row
from proreus.server.storage.sqlite.side_reads import first_answer, read_aside
from proreus.server.storage.sqlite.writer import Batch, Writer

T = TypeVar("T")

_READ_MAX = 500
_VERIFIED_MAX = 20
_EXPIRY_RETRY_S = 10.0
# How long writes may wait for company: a commit costs as much as deciding a write.
_GATHER_S = 0.004


class SqliteStorage(IndexedStorage):
    """See the module and ``interface``. Opened by ``open``."""

    def __init__(self, path: Path, clock: Clock, contents: FileContents, writer: Writer) -> None:
        super().__init__(contents.index, contents.revision, contents.compacted)
        self._loop = asyncio.get_running_loop()
        self._path = path
        self._clock = clock
        self._writer = writer
        self._mark = contents.mark
        self._files = contents.files
        self._pending = PendingWrites(self._index, contents.revision)
        self._queued: list[PendingWrite] = []
        self._was_alone = False  # whether the last commit was of a single write
        self._gathering = Debounce(clock, _GATHER_S, self._flush)
        self._epoch = 0
        self._expiries = Expiries(clock, self._expire)
        self._expiries.load(contents.expiries)
        self._is_closed = False
        self._guard = Guard(writer, str(path))
        self._garbage = Garbage(self._index, self._guard)
        self._commits_due = CommitWatch(clock, self._guard.slow, self._guard.quick)
        if not contents.has_room:
            self._guard.refused(StorageFull(f"no space left for {path}"))

    @classmethod
    @asynccontextmanager
    async def open(
        cls, path: Path | str, clock: Clock, *, synchronous: Synchronous = "FULL"
    ) -> AsyncIterator[SqliteStorage]:
        """Open or create a file. Raises StorageLocked, StorageCorrupt, StorageFull, Unavailable.

        ``synchronous="NORMAL"`` is twice as fast for a single writer and may lose the last moments
        when the power fails.
        """
        path = Path(path)
        with locked(path.with_name(path.name + ".lock")):
            writer = Writer()
            with ExitStack() as closed_last:
                try:
                    contents = await writer.start(lambda: _opened(path, synchronous))
                    if contents.mark is not None:
                        closed_last.callback(contents.mark.close)
                    storage = cls(path, clock, contents, writer)
                    writer.report_to(storage)
                    await storage._finish_compaction()
                    try:
                        yield storage
                    finally:
                        storage._close()
                finally:
                    await writer.stop()

    async def create(self, key: str, value: bytes, *, ttl_s: Ttl = None) -> int:
        check_key(key)
        while self._pending.revision_of(key):
            if (current := await self._settled(key)) is not None:
                raise KeyExists(current)
        return await self._write(key, value, 0, ttl_s)

    async def update(
        self, key: str, value: bytes, *, expected: int, ttl_s: Ttl = None, replaced: OldValue = None
    ) -> int:
        check_key(key)
        if self._pending.revision_of(key) != expected or not expected:
            raise RevisionConflict(key, expected, await self._settled(key))
        return await self._write(key, value, expected, ttl_s, replaced)

    async def delete(self, key: str, *, expected: int, replaced: OldValue = None) -> int:
        check_key(key)
        if self._pending.revision_of(key) != expected or not expected:
            raise RevisionConflict(key, expected, await self._settled(key))
        try:
            return await self._write(key, None, expected, None, replaced)
        except StorageFull:
            # Nothing was written, and room was made for deletions.
            if self._pending.revision_of(key) != expected:
                raise
            return await self._write(key, None, expected, None, replaced)

    async def get(self, key: str, *, at_least: int = 0) -> StoredValue | None:
        check_key(key)
        self._check_reached(at_least)
        while revision := self._index.live(key):
            value = (await self._values([revision])).get(revision)
            if value is not None:
                return StoredValue(key, value, revision)
        return None

    async def list(
        self, prefix: str, *, start: str = "", limit: int = 0, revision: int = 0
    ) -> Page:
        check_prefix(prefix)
        while True:
            self._check_readable(revision)
            read_at = revision or self._log.revision
            span = self._index.at(prefix, start, limit, revision or None)
            values = await self._values([entry.revision for entry in span.entries])
            if len(values) == len(span.entries):
                items = tuple(
                    StoredValue(e.key, values[e.revision], e.revision) for e in span.entries
                )
                return Page(items, read_at, span.remaining > 0, span.remaining)
            # Compaction took what was being read: start over from now, or say so.

    async def versions(self, key: str, *, limit: int) -> tuple[PastValue, ...]:
        check_key(key)
        found = self._index.versions(key)[-limit:]
        values = await self._values([revision for revision in found if revision > 0])
        # What compaction took meanwhile is no version any more.
        return tuple(
            PastValue(abs(revision), values.get(revision))
            for revision in found
            if revision < 0 or revision in values
        )

    async def compact(self, revision: int) -> None:
        self._check_reached(revision)
        if revision <= self._compacted:
            return
        await self._guard.do(lambda database: database.set_compacted(revision))
        self._compacted = max(self._compacted, revision)
        await self._garbage.drop(self._compacted)

    @property
    def health(self) -> Health:
        return self._guard.health

    async def run(self, compaction_s: float = COMPACTION_S) -> None:
        await maintenance.run(self, self._clock, compaction_s)

    async def checkpoint(self) -> None:
        """Move the write-ahead log into the file; for idle moments."""
        await self._guard.do(Database.checkpoint)

    async def watch_space(self) -> None:
        await self._guard.do(Database.watch_space)

    async def verify(self, after: int) -> int:
        """Compare some values with their checksums; returns where to go on, 0 at the end."""
        return await self._guard.do(lambda database: database.log.verify(after, _VERIFIED_MAX))

    async def recover(self) -> None:
        """End a full or read-only state if its cause is gone; on a full disk forget history first.

        Raises why it lasts.
        """
        if self._guard.is_full:
            await self.compact(self._log.revision)
            await self._garbage.drop(self._compacted)  # an earlier try may have been cut short
        await self._guard.regain()

    async def _write(
        self,
        key: str,
        value: bytes | None,
        replaced: int,
        ttl_s: float | None,
        old: bytes | None = None,
    ) -> int:
        if not isinstance(self.health, Healthy):
            await self._guard.check(is_deletion=value is None)
        expires = None if ttl_s is None else self._clock.now() + ttl_s
        write = self._decide(key, value, replaced, expires, old)
        await write.done
        return write.row.revision

    def _decide(
        self,
        key: str,
        value: bytes | None,
        replaced: int,
        expires: float | None,
        old: bytes | None = None,
    ) -> PendingWrite:
        if self._is_closed:
            raise Unavailable("the store is closed")
        write = self._pending.decide(key, value, replaced, expires)
        write.old = old
        self._queued.append(write)
        if self._was_alone and len(self._pending) == 1:
            self._flush()  # the thread is idle: the end of the turn would bring only delay
        else:
            self._gathering.trigger()
        return write

    def _flush(self) -> None:
        if self._queued:
            unread: list[int] = []
            if self._log.is_watched:
                unread = [w.row.replaced for w in self._queued if w.row.replaced and w.old is None]
            rows = [write.row for write in self._queued]
            self._writer.put(Batch(rows, self._epoch, self._log.is_watched, unread))
            self._queued = []
            self._commits_due.handed_over()

    def committed(self, batches: Sequence[Batch], olds: dict[int, bytes]) -> None:
        """Called by the writer: publish in order, then answer."""
        if not self._is_kept(batches[-1].rows[-1].revision):
            return
        settled: list[PendingWrite] = []
        for batch in batches:
            writes = [self._pending.commit(row) for row in batch.rows]
            settled += writes
            newest = batch.rows[-1].revision
            if batch.is_watched:
                self._log.publish([committed_change(write, olds) for write in writes], newest)
            else:
                self._log.skip_to(newest)
        self._was_alone = len(settled) == 1
        self._commits_due.ended(is_more=len(self._pending) > len(self._queued))
        self._commits.record(batches[-1].rows[-1].revision, self._clock.monotonic())
        for write in settled:
            if write.row.expires is not None:
                self._expiries.add(write.row.expires, write.row.key, write.row.revision)
            write.settle(None)

    def _is_kept(self, revision: int) -> bool:
        """Whether what was committed can be acknowledged: it is in the files that a restart reads.

        If not, it is not published and nothing is written any more.
        """
        if isinstance(self.health, Broken):
            return False
        try:
            self._files.check(is_closing=self._is_closed)
        except StorageBroken as why:
            self._guard.refused(why)
            self._queued = []
            self._pending.refuse(why, self._log.revision)
            return False
        if self._mark is not None:
            self._mark.raise_to(revision)
        return True

    def refused(self, epoch: int, why: StorageError) -> None:
        """Called by the writer: nothing of what is pending was or will be written."""
        self._commits_due.ended(is_more=False)
        self._epoch = epoch
        self._queued = []
        self._guard.refused(why)
        self._pending.refuse(why, self._log.revision)

    async def _finish_compaction(self) -> None:
        """At open; what a full or read-only disk refuses is left for later."""
        with suppress(StorageFull, StorageReadOnly):
            await self._garbage.drop(self._compacted)

    async def _settled(self, key: str) -> StoredValue | None:
        """A key's value once what is being written to it is committed. Raises if it is refused."""
        write = self._pending.newest(key)
        if write is None:
            return await self.get(key)
        await write.wait_settled()
        row = write.row
        return None if row.value is None else StoredValue(key, row.value, row.revision)

    async def _values(self, revisions: Sequence[int]) -> dict[int, bytes]:
        values: dict[int, bytes] = {}
        for first in range(0, len(revisions), _READ_MAX):
            values |= await self._read(revisions[first : first + _READ_MAX])
        return values

    async def _read(self, revisions: Sequence[int]) -> dict[int, bytes]:
        return await self._read_log(lambda log: log.read(revisions))

    async def _read_log(self, function: Callable[[RowReader], T]) -> T:
        """By the thread, or past it if a commit holds it up."""
        asked = asyncio.ensure_future(self._guard.do(lambda database: function(database.log)))
        return await first_answer(asked, self._clock, lambda: read_aside(self._path, function))

    async def _read_past(self, position: Position) -> ChangeBatch:
        newest, after = self._log.revision, position.after
        versions = await self._read_log(lambda log: log.versions_after(after, _READ_MAX))
        wanted = [v for v in versions if v.key.startswith(position.prefix)]
        values = await self._values(
            sorted({v.revision for v in wanted if not v.is_deletion} | {v.replaced for v in wanted})
        )
        if after < self._compacted:  # it may have taken some of what was read
            raise Compacted(after, self._compacted)
        changes = tuple(
            change_of(Row(v.revision, v.key, v.replaced, None, values.get(v.revision)), values)
            for v in wanted
        )
        is_all = len(versions) < _READ_MAX
        reached = versions[-1].revision if versions else after
        return ChangeBatch(changes, max(reached, newest) if is_all else reached)

    def _expire(self, key: str, revision: int) -> None:
        if self._pending.revision_of(key) != revision:
            return
        if isinstance(self.health, ReadOnly | Broken):
            self._expiries.add(self._clock.now() + _EXPIRY_RETRY_S, key, revision)
            return
        write = self._decide(key, None, revision, None)

        def retry_if_refused(done: asyncio.Future[None]) -> None:
            if not done.cancelled() and done.exception() is not None:
                self._expiries.add(self._clock.now() + _EXPIRY_RETRY_S, key, revision)

        write.done.add_done_callback(retry_if_refused)

    def _close(self) -> None:
        self._flush()
        self._commits_due.close()
        self._expiries.close()
        self._is_closed = True

    def __repr__(self) -> str:
        state = f", {why}" if (why := readiness(self.health)) else ""
        return (
            f"<SqliteStorage {self._path} with {len(self._index)} keys at revision "
            f"{self._log.revision}, readable since {self._compacted}{state}>"
        )


def _opened(path: Path, synchronous: Synchronous) -> tuple[Database, FileContents]:
    database = Database(path, synchronous)
    try:
        database.check()
        return database, database.load()
    except BaseException:
        database.close()
        raise
