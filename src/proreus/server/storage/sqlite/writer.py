"""The thread that owns the database: it takes everything queued, commits once, and answers.

Receives: batches of rows and jobs, from ``store`` on the event loop, in order.
Hands on: each batch as committed or refused, each job's result, one loop callback per round.
Invariant: batches commit in the order given; after a refusal every batch queued before the loop
learned of it is refused too, because its revisions and comparisons rest on the refused one.

The queue has no bound of its own: each entry has a caller that waits for its answer.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Sequence
from queue import Empty, SimpleQueue
from typing import Any, Generic, Protocol, TypeVar

import msgspec

from proreus.lazy_dataclass import dataclass
from proreus.server.storage.interface import StorageBroken, StorageError, Unavailable
from proreus.server.storage.sqlite.database import Database
from proreus.server.storage.sqlite.rows import Row

T = TypeVar("T")


class Batch(msgspec.Struct, frozen=True):
    """Rows to commit together. ``epoch`` counts refusals: a batch of an earlier one is refused.

    ``is_watched``: watches need the values that the rows replace; ``unread`` are the
    revisions of those that the loop does not have.
    """

    rows: Sequence[Row]
    epoch: int
    is_watched: bool
    unread: Sequence[int]


@dataclass(frozen=True, slots=True)
class Job(Generic[T]):
    """Something else to do with the database, between two commits."""

    function: Callable[[Database], T]
    answer: asyncio.Future[T]


class CommitListener(Protocol):
    """Called with the outcome of batches, on the event loop."""

    def committed(self, batches: Sequence[Batch], olds: dict[int, bytes]) -> None: ...

    def refused(self, epoch: int, why: StorageError) -> None: ...


QueueItem = Batch | Job[Any] | None  # None: stop


class Writer:
    """Starts its thread with ``start``; ``stop`` ends it after all that was queued."""

    def __init__(self) -> None:
        self._owner: CommitListener | None = None
        self._is_open = False
        self._loop = asyncio.get_running_loop()
        self._queue: SimpleQueue[QueueItem] = SimpleQueue()
        self._epoch = 0
        self._ended: asyncio.Future[None] = self._loop.create_future()
        self._thread: threading.Thread | None = None

    async def start(self, open_database: Callable[[], tuple[Database, T]]) -> T:
        """Open the database in the thread; returns what was found in it."""
        opened: asyncio.Future[T] = self._loop.create_future()
        self._thread = threading.Thread(
            target=self._run, args=(open_database, opened), name="sqlite writer", daemon=True
        )
        self._thread.start()
        self._is_open = True
        # No deadline: a large file is checked for as long as it takes.
        return await opened

    def report_to(self, owner: CommitListener) -> None:
        self._owner = owner

    async def stop(self) -> None:
        """End the thread after all that is queued. Idempotent."""
        if self._thread is None or not self._is_open:
            return
        self._is_open = False
        self._queue.put(None)
        try:
            await self._ended
        finally:
            self._thread.join()

    def put(self, batch: Batch) -> None:
        self._queue.put(batch)

    async def do(self, function: Callable[[Database], T]) -> T:
        """Run ``function`` in the thread, between two commits."""
        if not self._is_open:
            raise Unavailable("the store is closed")
        answer: asyncio.Future[T] = self._loop.create_future()
        self._queue.put(Job(function, answer))
        return await answer

    def _run(
        self, open_database: Callable[[], tuple[Database, T]], opened: asyncio.Future[T]
    ) -> None:
        try:
            try:
                database, found = open_database()
            except StorageError as why:
                self._post(_fail, opened, why)
                return
            self._post(_settle, opened, found)
            del found
            while self._round(database):
                pass
            database.close()
        finally:
            self._post(_settle, self._ended, None)

    def _round(self, database: Database) -> bool:
        """The jobs queued, then one commit of everything else queued; False: stop."""
        entries = self._take()
        for entry in entries:
            if isinstance(entry, Job):
                self._do(database, entry)
        batches = [entry for entry in entries if isinstance(entry, Batch)]
        if batches:
            self._commit(database, batches)
        return None not in entries

    def _take(self) -> list[QueueItem]:
        entries = [self._queue.get()]
        try:
            while True:
                entries.append(self._queue.get_nowait())
        except Empty:
            return entries

    def _commit(self, database: Database, batches: list[Batch]) -> None:
        valid = [batch for batch in batches if batch.epoch == self._epoch]
        if not valid:
            return
        rows = [row for batch in valid for row in batch.rows]
        old_of = [revision for batch in valid for revision in batch.unread]
        assert self._owner is not None
        try:
            olds = database.write(rows, old_of)
        except StorageError as why:
            self._epoch += 1
            self._post(self._owner.refused, self._epoch, why)
        except Exception as bug:  # a thread that dies silently would leave every writer waiting
            self._epoch += 1
            failure = StorageBroken(f"the writer failed: {bug!r}")
            self._post(self._owner.refused, self._epoch, failure)
        else:
            self._post(self._owner.committed, valid, olds)

    def _do(self, database: Database, job: Job[Any]) -> None:
        try:
            result = job.function(database)
        except StorageError as why:
            self._post(_fail, job.answer, why)
        except Exception as bug:
            self._post(_fail, job.answer, Unavailable(f"the writer failed: {bug!r}"))
        else:
            self._post(_settle, job.answer, result)

    def _post(self, callback: Callable[..., None], *arguments: object) -> None:
        self._loop.call_soon_threadsafe(callback, *arguments)


def _settle(answer: asyncio.Future[T], result: T) -> None:
    if not answer.done():
        answer.set_result(result)


def _fail(answer: asyncio.Future[Any], why: StorageError) -> None:
    if not answer.done():
        answer.set_exception(why)
