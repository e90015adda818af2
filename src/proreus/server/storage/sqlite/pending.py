"""Writes decided but not yet committed: who may write what, decided on the event loop.

A write is compared with the newest decided state, gets its revision and is queued in one step, so
the database thread has nothing to decide. Readers see only what is committed.

Invariant: applying the pending writes in order to the committed index gives the decided state. When
the database refuses, all pending writes are refused and the decided state is the committed one.
"""

from __future__ import annotations

import asyncio

from proreus.server.storage.interface import StorageError
from proreus.server.storage.revision_index import RevisionIndex
from proreus.server.storage.sqlite.rows import Row


class PendingWrite:
    """A decided write. Its writer awaits ``done`` and may give up, others ``wait_settled``.

    ``old``: the value it replaces, if its writer had it at hand.
    """

    __slots__ = ("_others", "done", "old", "row")

    def __init__(self, row: Row, done: asyncio.Future[None]) -> None:
        self.row = row
        self.done = done
        self.old: bytes | None = None
        self._others: list[asyncio.Future[None]] = []

    async def wait_settled(self) -> None:
        """Return once it is committed. Raises why it was refused. No deadline: a commit ends."""
        other: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._others.append(other)
        await other

    def settle(self, why: StorageError | None) -> None:
        if why is None and not self._others:
            if not self.done.done():
                self.done.set_result(None)
            return
        for waiting in (self.done, *self._others):
            if waiting.done():
                continue
            if why is None:
                waiting.set_result(None)
            else:
                waiting.set_exception(type(why)(*why.args))  # one each: tracebacks stay apart
                waiting.exception()  # no caller waits for an expiry's answer

    def __repr__(self) -> str:
        return f"<PendingWrite of {self.row.key} at {self.row.revision}>"


class PendingWrites:
    """The decided state beyond the committed one."""

    def __init__(self, index: RevisionIndex, revision: int) -> None:
        self._loop = asyncio.get_running_loop()
        self._index = index
        self._decided = revision
        self._writes: dict[int, PendingWrite] = {}  # by revision, in order
        self._newest: dict[str, PendingWrite] = {}

    def newest(self, key: str) -> PendingWrite | None:
        """The last write to a key, if it is not committed yet."""
        return self._newest.get(key)

    def revision_of(self, key: str) -> int:
        """The decided revision of a key's value; 0: it has none."""
        write = self._newest.get(key)
        if write is None:
            return self._index.live(key)
        return write.row.revision if write.row.value is not None else 0

    def decide(
        self, key: str, value: bytes | None, replaced: int, expires: float | None
    ) -> PendingWrite:
        """Give a write its revision; ``replaced`` is what the caller compared with."""
        self._decided += 1
        row = Row(self._decided, key, replaced, expires, value)
        write = PendingWrite(row, self._loop.create_future())
        self._writes[row.revision] = self._newest[key] = write
        return write

    def commit(self, row: Row) -> PendingWrite:
        """Take a committed write out, into the index. In revision order."""
        write = self._writes.pop(row.revision)
        if self._newest[row.key] is write:
            del self._newest[row.key]
        if row.value is None:
            self._index.remove(row.key, row.revision)
        else:
            self._index.put(row.key, row.revision)
        return write

    def refuse(self, why: StorageError, revision: int) -> None:
        """Forget all pending writes; ``revision`` is the newest committed one."""
        refused = list(self._writes.values())
        self._writes.clear()
        self._newest.clear()
        self._decided = revision
        for write in refused:
            write.settle(why)

    def __len__(self) -> int:
        return len(self._writes)

    def __repr__(self) -> str:
        return f"<PendingWrites: {len(self)} up to revision {self._decided}>"
