"""A database file as a source of rows, and as a new file. Blocking; no store is opened.

A source may be in use by a server: everything is read in one transaction, which sees one moment
however long it takes and holds up no writer.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import NamedTuple

from proreus.server.storage.backup.extent import Copied, Extent, Progress
from proreus.server.storage.interface import StorageCorrupt, StorageFull, Unavailable
from proreus.server.storage.keyspace import ROOT
from proreus.server.storage.sqlite import checksums, errors, statements
from proreus.server.storage.sqlite.file_format import check_format
from proreus.server.storage.sqlite.log_order import LogOrder
from proreus.server.storage.sqlite.rows import Row

# The key of writes that are no object's, such as other programs make in an etcd: its rows only take
# revisions. No server looks at it.
FILLER = "/proreus/filler"

_PROGRESS_ROWS = 1_000
_SCHEMA = (*statements.NEW_FILE, "PRAGMA journal_mode = OFF", "PRAGMA synchronous = OFF")


class CopiedRow(NamedTuple):
    """A row and the checksum it has, or gets if it had none. A value that does not match it is
    copied with it, so that it stays known as damaged."""

    row: Row
    checksum: int


class SavedLog:
    """A database as of the moment of its opening by ``open``. ``damaged`` are the keys of values
    that did not match their checksums, among the rows that were read."""

    def __init__(self, path: Path, connection: sqlite3.Connection) -> None:
        self.path = path
        self._connection = connection
        self._format = check_format(path, self._number)
        compacted = self._number("SELECT compacted FROM state")
        newest = self._number("SELECT coalesce(max(revision), 1) FROM log")
        self.extent = Extent(max(newest, compacted), compacted)
        self.damaged: list[str] = []
        # Known when all rows were read:
        self.objects = 0
        self.live: frozenset[int] = frozenset()  # revisions of the rows that nothing replaced

    @classmethod
    @contextmanager
    def open(cls, path: Path) -> Iterator[SavedLog]:
        """Raises StorageCorrupt, Unavailable."""
        if not path.is_file():
            raise Unavailable(f"there is no file {path}")
        try:
            # Not mode=ro: the log of a database that was not closed could not be read.
            connection = sqlite3.connect(
                f"{path.absolute().as_uri()}?mode=rw", uri=True, isolation_level=None, timeout=5
            )
            with closing(connection):
                connection.execute("PRAGMA query_only = 1")
                connection.execute("BEGIN")
                yield cls(path, connection)
        except sqlite3.Error as failure:
            raise errors.translated(path, failure) from failure

    @property
    def is_empty(self) -> bool:
        return not self._number("SELECT count(*) FROM (SELECT 1 FROM log LIMIT 1)")

    def rows(self, progress: Progress) -> Iterator[CopiedRow]:
        """All of them in the order of their revisions. Raises StorageCorrupt."""
        order = LogOrder(self.extent.compacted, str(self.path))
        checksum_column = "checksum" if self._format >= 2 else "NULL"
        found = self._connection.execute(
            f"SELECT revision, key, replaced, expires, {checksum_column}, value FROM log"
            " ORDER BY revision"
        )
        self.damaged.clear()
        for number, (revision, key, replaced, expires, checksum, value) in enumerate(found):
            row = Row(
                revision,
                order.take(revision, key, replaced, expires, value is None, checksum),
                replaced,
                expires,
                value,
            )
            if checksum is None:
                checksum = checksums.of_row(*row)
            elif not checksums.is_value(value or b"", checksum):
                self.damaged.append(key)
            yield CopiedRow(row, checksum)
            if number % _PROGRESS_ROWS == 0:
                progress(revision / self.extent.revision)
        self.objects, self.live = order.count(ROOT), order.live()

    def verify(self, progress: Progress) -> Copied:
        """Read everything, pages and rows. Raises StorageCorrupt."""
        (verdict,) = self._connection.execute("PRAGMA integrity_check(1)").fetchone()
        if verdict != "ok":
            raise StorageCorrupt(f"{self.path} is damaged: {verdict}")
        for _ in self.rows(progress):
            pass
        return Copied(self.extent, self.objects, tuple(self.damaged))

    def _number(self, statement: str) -> int:
        (found,) = self._connection.execute(statement).fetchone()
        return int(found)

    def __repr__(self) -> str:
        return f"<SavedLog {self.path} up to revision {self.extent.revision}>"


class NewLog:
    """A database that is being written, in an empty file. ``target`` is what errors name.

    Nothing is synced: whoever gives the file its name does that first.
    """

    def __init__(self, path: Path, target: Path) -> None:
        self._target = target
        self._waiting: list[CopiedRow] = []
        self._newest = self._filler = 0
        with self._errors():
            self._connection = sqlite3.connect(path, isolation_level=None)
            for statement in (*_SCHEMA, "BEGIN", *statements.SCHEMA):
                self._connection.execute(statement)

    def __enter__(self) -> NewLog:
        return self

    def __exit__(self, *_: object) -> None:
        self._connection.close()

    def add(self, copied: CopiedRow) -> None:
        """In any order of revisions."""
        row = copied.row
        self._newest = max(self._newest, row.revision)
        if row.key == FILLER:
            self._filler = row.revision
        self._waiting.append(copied)
        if len(self._waiting) == statements.INSERTED_MAX:
            self._insert()

    def finish(self, extent: Extent) -> None:
        """Make it a database of this extent."""
        if self._newest < extent.revision != extent.compacted:
            row = Row(extent.revision, FILLER, self._filler, None, b"")
            self.add(CopiedRow(row, checksums.of_row(*row)))
        self._insert()
        with self._errors():
            self._connection.execute(statements.SET_COMPACTED, (extent.compacted,))
            self._connection.execute("COMMIT")
            self._connection.close()

    def _insert(self) -> None:
        if not self._waiting:
            return
        values: list[object] = []
        for (revision, key, replaced, expires, value), checksum in self._waiting:
            values += (revision, key, replaced, expires, checksum, value)
        with self._errors():
            self._connection.execute(statements.insert(len(self._waiting)), values)
        self._waiting.clear()

    @contextmanager
    def _errors(self) -> Iterator[None]:
        try:
            yield
        except (sqlite3.Error, UnicodeEncodeError) as failure:
            if getattr(failure, "sqlite_errorcode", 0) == sqlite3.SQLITE_FULL:
                raise StorageFull(f"no space left for {self._target}") from failure
            raise Unavailable(f"{self._target} cannot be written: {failure}") from failure

    def __repr__(self) -> str:
        return f"<NewLog for {self._target} up to revision {self._newest}>"


def verified(path: Path, target: Path, source: Copied) -> None:
    """Raises StorageCorrupt unless the new file at ``path`` has what was copied into it."""
    with SavedLog.open(path) as written:
        found = written.verify(lambda _share: None)
    if found != source:
        raise StorageCorrupt(
            f"{target} was not written: reading it back gave other rows ({found}, not {source})"
        )
