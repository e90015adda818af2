"""The database file: opened, checked, written, read. Blocking; one thread owns it.

Every failure leaves as a storage error with the reason, never as one of sqlite3's. What was not
committed is rolled back before the error leaves.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from itertools import chain
from pathlib import Path
from typing import Literal

from proreus.server.storage.interface import StorageCorrupt, StorageError, StorageFull
from proreus.server.storage.revision_index import RevisionIndex
from proreus.server.storage.sqlite import checksums, errors, high_water_mark, statements
from proreus.server.storage.sqlite.ballast import Ballast
from proreus.server.storage.sqlite.file_format import check_format
from proreus.server.storage.sqlite.files import OpenFiles
from proreus.server.storage.sqlite.log_order import LogOrder
from proreus.server.storage.sqlite.row_reader import RowReader
from proreus.server.storage.sqlite.rows import FileContents, Row

Synchronous = Literal["FULL", "NORMAL"]


class Database:
    """See the module. ``close`` checkpoints, so that one file is left."""

    def __init__(self, path: Path, synchronous: Synchronous = "FULL") -> None:
        self.path = path
        self._ballast = Ballast(path.with_name(path.name + ".ballast"))
        self._is_space_low = False
        self._is_durable = synchronous == "FULL"
        try:
            self._connection = self._connect(synchronous)
        except StorageFull:
            self._ballast.release()
            self._connection = self._connect(synchronous)
        self.log = RowReader(path, self._connection)

    def _connect(self, synchronous: Synchronous) -> sqlite3.Connection:
        with self._errors():
            _create_private(self.path)
            self._connection = sqlite3.connect(
                self.path,
                isolation_level=None,
                check_same_thread=True,
                timeout=5,
                cached_statements=statements.PREPARED_MAX,
            )
            try:
                self._open(synchronous)
            except BaseException:
                self._connection.close()
                raise
        return self._connection

    def _open(self, synchronous: Synchronous) -> None:
        is_new = self._is_new()
        if not is_new:
            check_format(self.path, self._number)
        for statement in (*(statements.NEW_FILE if is_new else ()), *statements.EACH_OPEN):
            self._execute(statement)
        self._execute(f"PRAGMA synchronous = {synchronous}")
        if is_new:
            with self._transaction():
                for statement in statements.SCHEMA:
                    self._execute(statement)
        elif self._number("PRAGMA user_version") < statements.FORMAT:
            with self._transaction():
                for statement in statements.MIGRATION:
                    self._execute(statement)

    def _is_new(self) -> bool:
        """Nothing was ever written, or a first start ended before its first commit."""
        return not (
            self._number("SELECT count(*) FROM sqlite_schema")
            or self._number("PRAGMA application_id")
            or self._number("PRAGMA user_version")
        )

    def check(self) -> None:
        """Walk all pages; a quarter of a second for 100,000 objects."""
        with self._errors():
            (verdict,) = self._execute("PRAGMA quick_check(1)").fetchone()
        if verdict != "ok":
            raise StorageCorrupt(f"{self.path} is damaged: {verdict}")

    def load(self) -> FileContents:
        """Everything but the values; reads every leaf page, so a torn file is found here."""
        self._settle_log()
        expiries: list[tuple[float, str, int]] = []
        with self._errors():
            compacted = self._number("SELECT compacted FROM state")
            index = RevisionIndex.replayed(self._versions(compacted, expiries))
            newest = self._number("SELECT coalesce(max(revision), 1) FROM log")
        live = [entry for entry in expiries if index.live(entry[1]) == entry[2]]
        newest = max(newest, compacted)
        if lost := high_water_mark.lost_writes(self.path, newest):
            # Their revisions are never given again, and no watch resumes from among them.
            self.set_compacted(lost)
            newest = compacted = lost
        with self._errors():
            mark = high_water_mark.begin(self.path, newest)
        if not self._is_durable:
            mark.close()
        has_room = self._ballast.make()
        self.watch_space()
        kept = mark if self._is_durable else None
        return FileContents(index, live, newest, compacted, kept, OpenFiles(self.path), has_room)

    def _settle_log(self) -> None:
        """Move the write-ahead log into the file before anything is believed that it says.

        After a failed fsync the system's cache may show what never reached the disk, and a second
        fsync would say nothing. What is copied is written and synced anew.
        """
        with suppress(StorageFull), self._errors():
            self._execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()

    def _versions(
        self, compacted: int, expiries: list[tuple[float, str, int]]
    ) -> Iterator[tuple[int, str, bool]]:
        order = LogOrder(compacted, str(self.path))
        for revision, read, replaced, expires, gone, checksum in self._execute(statements.LOAD):
            key = order.take(revision, read, replaced, expires, gone, checksum)
            if expires is not None:
                expiries.append((expires, key, revision))
            yield revision, key, bool(gone)

    def write(self, rows: Sequence[Row], old_of: Sequence[int]) -> dict[int, bytes]:
        """Commit all rows or none; returns the values that stood at the revisions ``old_of``."""
        with self._making_room(), self._errors():
            olds = self.log.read(old_of)
            if len(rows) <= statements.INSERTED_MAX:
                self._insert(rows)
            else:
                with self._transaction():
                    for first in range(0, len(rows), statements.INSERTED_MAX):
                        self._insert(rows[first : first + statements.INSERTED_MAX])
        if len(olds) < len(old_of):
            own = {row.revision: row.value for row in rows if row.value is not None}
            olds.update((revision, own[revision]) for revision in old_of if revision not in olds)
        return olds

    def _insert(self, rows: Sequence[Row]) -> None:
        self._execute(statements.insert(len(rows)), _parameters(rows))

    @contextmanager
    def _making_room(self) -> Iterator[None]:
        """On a full disk give up the reserve and cut the write-ahead log, which may hold what the
        file has room for: the next write finds that space. If there is none, nothing is lost."""
        try:
            yield
        except StorageFull:
            self._ballast.release()
            self.cut_log()
            raise

    def cut_log(self) -> None:
        with suppress(StorageError), self._errors():
            self._execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()

    def watch_space(self) -> None:
        """On a disk that is nearly full keep the write-ahead log short.

        What it holds must find room in the file before it can be cut, and once the disk is full
        there is only the reserve.
        """
        is_low = self._ballast.is_space_low()
        if is_low != self._is_space_low:
            self._is_space_low = is_low
            pages = self._ballast.size() // 2 // statements.PAGE_SIZE
            with self._errors():
                self._execute(statements.autocheckpoint(pages if is_low else None))
            self.cut_log()

    def regain(self) -> None:
        """Return if there is room for every kind of write, with a new reserve.

        Raises StorageFull, StorageReadOnly, StorageBroken.
        """
        self.cut_log()
        if fault := errors.write_fault(self.path):
            raise fault
        if not self._ballast.make():
            raise StorageFull(f"no space left for {self.path}: only deletions are possible")

    def set_compacted(self, revision: int) -> None:
        with self._making_room(), self._errors(), self._transaction():
            self._execute(statements.SET_COMPACTED, (revision,))

    def drop(self, revisions: Sequence[int], *, is_full: bool = False) -> None:
        """``is_full``: with as little room as possible, freed pages are not overwritten."""
        with self._making_room(), self._errors():
            before = self._number("PRAGMA secure_delete")
            if is_full:
                self._execute("PRAGMA secure_delete = FAST")
            try:
                with self._transaction():
                    self._execute(statements.delete(revisions))
            finally:
                self._execute(f"PRAGMA secure_delete = {before}")

    def shrink(self, pages: int, keep_share: float) -> bool:
        """Give up to ``pages`` free pages back to the disk; whether more should follow.

        A share of the file may stay free: new writes use it, moving pages costs writes.
        """
        with self._making_room(), self._errors():
            free = self._number("PRAGMA freelist_count")
            if free <= keep_share * self._number("PRAGMA page_count"):
                return False
            # execute() would step the pragma once and free one page; a script runs it to its end.
            self._connection.executescript(f"PRAGMA incremental_vacuum({pages})")
            return True

    def checkpoint(self) -> None:
        with self._errors():
            self._execute("PRAGMA wal_checkpoint(PASSIVE)").fetchone()

    def close(self) -> None:
        self._connection.close()
        self._ballast.hold()

    def _number(self, statement: str) -> int:
        (found,) = self._execute(statement).fetchone()
        return int(found)

    def _execute(self, statement: str, parameters: Sequence[object] = ()) -> sqlite3.Cursor:
        return self._connection.execute(statement, parameters)

    @contextmanager
    def _transaction(self) -> Iterator[None]:
        self._execute("BEGIN IMMEDIATE")
        try:
            yield
            self._execute("COMMIT")
        except BaseException:
            if self._connection.in_transaction:
                self._execute("ROLLBACK")
            raise

    def _errors(self) -> AbstractContextManager[None]:
        return errors.translating(self.path)

    def __repr__(self) -> str:
        return f"<Database {self.path}>"


def _create_private(path: Path) -> None:
    """Secrets will be inside: only their owner may read the file."""
    os.close(os.open(path, os.O_RDWR | os.O_CREAT, 0o600))


def _parameters(rows: Sequence[Row]) -> list[object]:
    return list(chain.from_iterable(map(_columns, rows)))


def _columns(row: Row) -> tuple[object, ...]:
    revision, key, replaced, expires, value = row
    return revision, key, replaced, expires, checksums.of_row(*row), value
