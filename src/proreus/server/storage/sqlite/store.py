"""Storage in one SQLite file: durable, fast, without a server (the default).

Receives: writes, from ``resource_store``.  Hands on: Change, to ``change_log``, once committed.
Invariant: what a reader or a watch sees is on disk; a watch sees a write not later than its writer.

The event loop decides (``pending``), a thread writes (``writer``), the loop publishes and answers.
Values stay on disk: memory holds the index only, the watch cache above holds the bytes. See
DESIGN.md beside this file.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

from proreus.aio.clock import Clock
from proreus.aio.quiet import WhenQuiet
from proreus.server.storage.change_log import ChangeLog, Position, Watch
from proreus.server.storage.interface import (
    Change,
    ChangeBatch,
    Compacted,
    FutureRevision,
    KeyExists,
    Page,
    RevisionConflict,
    StorageCorrupt,
    StorageError,
    StoredValue,
    Unavailable,
)
from proreus.server.storage.keyspace import check_key, check_prefix
from proreus.server.storage.sqlite import maintenance
from proreus.server.storage.sqlite.database import Broken, Contents, Database, Row, Synchronous
from proreus.server.storage.sqlite.expiry import Expiries
from proreus.server.storage.sqlite.lock_file import locked
from proreus.server.storage.sqlite.pending import PendingWrites, Write
from proreus.server.storage.sqlite.writer import Batch, Writer

_READ_MAX = 500
_EXPIRY_RETRY_S = 10.0
# How long writes may wait for company: a commit costs as much as deciding a write.
_GATHER_S = 0.004


class SqliteStorage:
    """See the module and ``interface``. Opened by ``open``."""

    def __init__(self, path: Path, clock: Clock, contents: Contents, writer: Writer) -> None:
        self._loop = asyncio.get_running_loop()
        self._path = path
        self._clock = clock
        self._writer = writer
        self._index = contents.index
        self._compacted = contents.compacted
        self._log = ChangeLog(contents.revision)
        self._pending = PendingWrites(self._index, contents.revision)
        self._queued: list[Write] = []
        self._was_alone = False  # whether the last commit was of a single write
        self._gathering = WhenQuiet(clock, _GATHER_S, self._flush)
        self._epoch = 0
        self._garbage: list[int] = []
        self._expiries = Expiries(clock, self._expire)
        self._expiries.load(contents.expiries)
        # Why nothing can be written any more; None while all is well.
        self._failure: StorageError | None = None

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
            try:
                contents = await writer.start(lambda: _opened(path, synchronous))
                storage = cls(path, clock, contents, writer)
                writer.report_to(storage)
                await storage._drop_compacted()
                try:
                    yield storage
                finally:
                    storage._close()
            finally:
                await writer.stop()

    async def create(self, key: str, value: bytes, *, ttl_s: float | None = None) -> int:
        check_key(key)
        while self._pending.revision_of(key):
            if (current := await self._settled(key)) is not None:
                raise KeyExists(current)
        return await self._write(key, value, 0, ttl_s)

    async def update(
        self,
        key: str,
        value: bytes,
        *,
        expected: int,
        ttl_s: float | None = None,
        replaced: bytes | None = None,
    ) -> int:
        check_key(key)
        if self._pending.revision_of(key) != expected or not expected:
            raise RevisionConflict(key, expected, await self._settled(key))
        return await self._write(key, value, expected, ttl_s, replaced)

    async def delete(self, key: str, *, expected: int, replaced: bytes | None = None) -> int:
        check_key(key)
        if self._pending.revision_of(key) != expected or not expected:
            raise RevisionConflict(key, expected, await self._settled(key))
        return await self._write(key, None, expected, None, replaced)

    async def get(self, key: str, *, at_least: int = 0) -> StoredValue | None:
        check_key(key)
        if at_least > self._log.revision:
            raise FutureRevision(at_least, self._log.revision)
        while revision := self._index.live(key):
            value = (await self._values([revision])).get(revision)
            if value is not None:
                return StoredValue(key, value, revision)
        return None

    def is_newest(self, key: str, revision: int) -> bool:
        return revision > 0 and self._index.live(key) == revision

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

    async def count(self, prefix: str) -> int:
        check_prefix(prefix)
        return self._index.count(prefix)

    async def current_revision(self) -> int:
        return self._log.revision

    @asynccontextmanager
    async def watch(self, prefix: str, *, after: int) -> AsyncIterator[AsyncIterator[ChangeBatch]]:
        check_prefix(prefix)
        if after < self._compacted:
            raise Compacted(after, self._compacted)
        position = self._log.open(prefix, after)
        try:
            yield Watch(self._log, position, self._read_past)
        finally:
            self._log.close(position)

    async def request_progress(self) -> None:
        self._log.request_progress()

    async def compact(self, revision: int) -> None:
        if revision > self._log.revision:
            raise FutureRevision(revision, self._log.revision)
        if revision <= self._compacted:
            return
        await self._writer.do(lambda database: database.set_compacted(revision))
        self._compacted = max(self._compacted, revision)
        await self._drop_compacted()

    @property
    def compacted_revision(self) -> int:
        return self._compacted

    async def run(self) -> None:
        await maintenance.run(self, self._clock)

    async def checkpoint(self) -> None:
        """Move the write-ahead log into the file; for idle moments."""
        await self._writer.do(Database.checkpoint)

    async def _write(
        self,
        key: str,
        value: bytes | None,
        replaced: int,
        ttl_s: float | None,
        old: bytes | None = None,
    ) -> int:
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
    ) -> Write:
        if self._failure is not None:
            raise self._failure.with_traceback(None)
        write = self._pending.decide(key, value, replaced, expires)
        write.old = old
        self._queued.append(write)
        if self._was_alone and len(self._pending) == 1:
            self._flush()  # the thread is idle: the end of the turn would bring only delay
        else:
            self._gathering.more()
        return write

    def _flush(self) -> None:
        if self._queued:
            unread: list[int] = []
            if self._log.is_watched:
                unread = [w.row.replaced for w in self._queued if w.row.replaced and w.old is None]
            rows = [write.row for write in self._queued]
            self._writer.put(Batch(rows, self._epoch, self._log.is_watched, unread))
            self._queued = []

    def committed(self, batches: Sequence[Batch], olds: dict[int, bytes]) -> None:
        """Called by the writer: publish in order, then answer."""
        settled: list[Write] = []
        for batch in batches:
            writes = [self._pending.commit(row) for row in batch.rows]
            settled += writes
            newest = batch.rows[-1].revision
            if batch.is_watched:
                self._log.publish([_committed_change(write, olds) for write in writes], newest)
            else:
                self._log.skip_to(newest)
        self._was_alone = len(settled) == 1
        for write in settled:
            if write.row.expires is not None:
                self._expiries.add(write.row.expires, write.row.key, write.row.revision)
            write.settle(None)

    def refused(self, epoch: int, why: StorageError) -> None:
        """Called by the writer: nothing of what is pending was or will be written."""
        self._epoch = epoch
        self._queued = []
        if isinstance(why, Broken | StorageCorrupt):
            self._failure = why
        self._pending.refuse(why, self._log.revision)

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
        return await self._writer.do(lambda database: database.read(revisions))

    def _check_readable(self, revision: int) -> None:
        if revision > self._log.revision:
            raise FutureRevision(revision, self._log.revision)
        if 0 < revision < self._compacted:
            raise Compacted(revision, self._compacted)

    async def _read_past(self, position: Position) -> ChangeBatch:
        newest, after = self._log.revision, position.after
        versions = await self._writer.do(lambda db: db.versions_after(after, _READ_MAX))
        wanted = [v for v in versions if v.key.startswith(position.prefix)]
        values = await self._values(
            sorted({v.revision for v in wanted if not v.is_deletion} | {v.replaced for v in wanted})
        )
        if after < self._compacted:  # it may have taken some of what was read
            raise Compacted(after, self._compacted)
        changes = tuple(
            _change(Row(v.revision, v.key, v.replaced, None, values.get(v.revision)), values)
            for v in wanted
        )
        is_all = len(versions) < _READ_MAX
        reached = versions[-1].revision if versions else after
        return ChangeBatch(changes, max(reached, newest) if is_all else reached)

    def _expire(self, key: str, revision: int) -> None:
        if self._failure is not None or self._pending.revision_of(key) != revision:
            return
        write = self._decide(key, None, revision, None)

        def retry_if_refused(done: asyncio.Future[None]) -> None:
            if not done.cancelled() and done.exception() is not None:
                self._expiries.add(self._clock.now() + _EXPIRY_RETRY_S, key, revision)

        write.done.add_done_callback(retry_if_refused)

    async def _drop_compacted(self) -> None:
        """Delete compacted rows, a thousand at a time, so that writes go on in between."""
        while dropped := self._garbage or self._index.compact(self._compacted, limit=1000):
            self._garbage = dropped  # kept for another try if the disk is full
            await self._drop(dropped)
            self._garbage = []
        while await self._writer.do(lambda database: database.shrink(1000, keep_share=0.25)):
            pass

    async def _drop(self, revisions: Sequence[int]) -> None:
        await self._writer.do(lambda database: database.drop(revisions))

    def _close(self) -> None:
        self._flush()
        self._expiries.close()
        self._failure = self._failure or Unavailable("the store is closed")

    def __repr__(self) -> str:
        state = f", {self._failure}" if self._failure else ""
        return (
            f"<SqliteStorage {self._path} with {len(self._index)} keys at revision "
            f"{self._log.revision}, readable since {self._compacted}{state}>"
        )


def _opened(path: Path, synchronous: Synchronous) -> tuple[Database, Contents]:
    database = Database(path, synchronous)
    try:
        database.check()
        return database, database.load()
    except BaseException:
        database.close()
        raise


def _committed_change(write: Write, values: dict[int, bytes]) -> Change:
    row = write.row
    if row.replaced and write.old is not None:
        values = {row.replaced: write.old}
    return _change(row, values)


def _change(row: Row, values: dict[int, bytes]) -> Change:
    old = StoredValue(row.key, values[row.replaced], row.replaced) if row.replaced else None
    new = StoredValue(row.key, row.value, row.revision) if row.value is not None else None
    return Change(row.revision, row.key, old, new)
