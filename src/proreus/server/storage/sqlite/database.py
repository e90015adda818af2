"""The database file: opened, checked, written, read. Blocking; one thread owns it.

Every failure leaves as a storage error with the reason, never as one of sqlite3's. What was not
committed is rolled back before the error leaves.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Literal, NamedTuple

from proreus.server.storage.interface import (
    StorageCorrupt,
    StorageError,
    StorageFull,
    Unavailable,
)
from proreus.server.storage.revision_index import RevisionIndex
from proreus.server.storage.sqlite import statements

_JOINED_MAX = 100  # values joined by one statement; more would be copied more often

Synchronous = Literal["FULL", "NORMAL"]

# What was refused before anything was committed; a quota or a file size limit is a write error.
_NO_SPACE = {sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR_WRITE}
_DAMAGED = {sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB}


class Broken(Unavailable):
    """The disk failed in a way that leaves the outcome open: the file must be opened anew."""


class Row(NamedTuple):
    """One write as it stands in the log; ``value`` None is a deletion. In the schema's order."""

    revision: int
    key: str
    replaced: int
    expires: float | None
    value: bytes | None


@dataclass(frozen=True, slots=True)
class Version:
    """A row of the log without its value."""

    revision: int
    key: str
    replaced: int
    is_deletion: bool


@dataclass(frozen=True, slots=True)
class Contents:
    """What a file holds, values left on disk."""

    index: RevisionIndex
    expiries: list[tuple[float, str, int]]
    revision: int
    compacted: int


class Database:
    """See the module. ``close`` checkpoints, so that one file is left."""

    def __init__(self, path: Path, synchronous: Synchronous = "FULL") -> None:
        self.path = path
        with self._errors():
            _create_private(path)
            self._connection = sqlite3.connect(
                path,
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

    def _open(self, synchronous: Synchronous) -> None:
        is_new = self._is_new()
        if not is_new:
            self._check_owner()
        for statement in (*(statements.NEW_FILE if is_new else ()), *statements.EACH_OPEN):
            self._execute(statement)
        self._execute(f"PRAGMA synchronous = {synchronous}")
        if is_new:
            with self._transaction():
                for statement in statements.SCHEMA:
                    self._execute(statement)

    def _is_new(self) -> bool:
        """Nothing was ever written, or a first start ended before its first commit."""
        return not (
            self._number("SELECT count(*) FROM sqlite_schema")
            or self._number("PRAGMA application_id")
            or self._number("PRAGMA user_version")
        )

    def _check_owner(self) -> None:
        owner = self._number("PRAGMA application_id")
        if owner != statements.APPLICATION_ID:
            raise StorageCorrupt(f"{self.path} belongs to another program (application id {owner})")
        version = self._number("PRAGMA user_version")
        if version > statements.FORMAT:
            raise StorageCorrupt(
                f"{self.path} was written by a newer version (format {version}, "
                f"this one reads up to {statements.FORMAT})"
            )

    def check(self) -> None:
        """Walk all pages; a quarter of a second for 100,000 objects."""
        with self._errors():
            (verdict,) = self._execute("PRAGMA quick_check(1)").fetchone()
        if verdict != "ok":
            raise StorageCorrupt(f"{self.path} is damaged: {verdict}")

    def load(self) -> Contents:
        """Everything but the values; reads every leaf page, so a torn file is found here."""
        expiries: list[tuple[float, str, int]] = []
        with self._errors():
            compacted = self._number("SELECT compacted FROM state")
            index = RevisionIndex.replayed(self._versions(compacted, expiries))
            newest = self._number("SELECT coalesce(max(revision), 1) FROM log")
        live = [entry for entry in expiries if index.live(entry[1]) == entry[2]]
        return Contents(index, live, max(newest, compacted), compacted)

    def _versions(
        self, compacted: int, expiries: list[tuple[float, str, int]]
    ) -> Iterator[tuple[int, str, bool]]:
        """Each write must follow the one it replaced, unless compaction took that."""
        live: dict[str, int] = {}
        names: dict[str, str] = {}  # one string per key, however many rows it has
        for revision, read, replaced, expires, is_deletion in self._execute(statements.LOAD):
            key = names.setdefault(read, read)
            before = live.get(key, 0)
            is_gap = before != replaced and (before or revision > compacted)
            if is_gap or (is_deletion and not before):
                raise StorageCorrupt(f"{self.path} is damaged: rows before {revision} are missing")
            live[key] = 0 if is_deletion else revision
            if expires is not None:
                expiries.append((expires, key, revision))
            yield revision, key, bool(is_deletion)

    def write(self, rows: Sequence[Row], old_of: Sequence[int]) -> dict[int, bytes]:
        """Commit all rows or none; returns the values that stood at the revisions ``old_of``."""
        try:
            with self._errors():
                olds = self._read_all(old_of)
                if len(rows) <= statements.INSERTED_MAX:
                    self._insert(rows)
                else:
                    with self._transaction():
                        for first in range(0, len(rows), statements.INSERTED_MAX):
                            self._insert(rows[first : first + statements.INSERTED_MAX])
        except StorageFull:
            self._release_log()
            raise
        if len(olds) < len(old_of):
            own = {row.revision: row.value for row in rows if row.value is not None}
            olds.update((revision, own[revision]) for revision in old_of if revision not in olds)
        return olds

    def _insert(self, rows: Sequence[Row]) -> None:
        self._execute(statements.insert(len(rows)), _parameters(rows))

    def _release_log(self) -> None:
        """On a full disk the write-ahead log may hold what the file has room for: the next write
        finds that space. If it has not, nothing is lost."""
        with suppress(StorageError), self._errors():
            self._execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()

    def read(self, revisions: Sequence[int]) -> dict[int, bytes]:
        """The values written at these revisions; what compaction took is left out."""
        with self._errors():
            return self._read_all(revisions)

    def _read_all(self, revisions: Sequence[int]) -> dict[int, bytes]:
        values: dict[int, bytes] = {}
        for first in range(0, len(revisions), _JOINED_MAX):
            values |= self._read(revisions[first : first + _JOINED_MAX])
        return values

    def _read(self, revisions: Sequence[int]) -> dict[int, bytes]:
        try:
            found = self._execute(statements.values_of(revisions)).fetchone()
        except sqlite3.DataError:  # more than SQLite's longest blob together
            if len(revisions) == 1:
                raise
            half = len(revisions) // 2
            return self._read(revisions[:half]) | self._read(revisions[half:])
        if found[0] is None:
            return {}
        numbers, lengths, joined = map(int, found[0].split(",")), found[1].split(","), found[2]
        values: dict[int, bytes] = {}
        at = 0
        for revision, length in zip(numbers, map(int, lengths), strict=True):
            values[revision] = joined[at : at + length]
            at += length
        return values

    def versions_after(self, revision: int, limit: int) -> list[Version]:
        with self._errors():
            rows = self._execute(statements.CHANGES, (revision, limit))
            return [Version(rev, key, old, bool(gone)) for rev, key, old, gone in rows]

    def set_compacted(self, revision: int) -> None:
        with self._errors(), self._transaction():
            self._execute(statements.SET_COMPACTED, (revision,))

    def drop(self, revisions: Sequence[int]) -> None:
        with self._errors(), self._transaction():
            self._execute(statements.delete(revisions))

    def shrink(self, pages: int, keep_share: float) -> bool:
        """Give up to ``pages`` free pages back to the disk; whether more should follow.

        A share of the file may stay free: new writes use it, moving pages costs writes.
        """
        with self._errors():
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

    @contextmanager
    def _errors(self) -> Iterator[None]:
        try:
            yield
        except sqlite3.Error as failure:
            raise _translated(self.path, failure) from failure
        except OSError as failure:
            raise Unavailable(f"cannot open {self.path}: {failure.strerror}") from failure

    def __repr__(self) -> str:
        return f"<Database {self.path}>"


def _create_private(path: Path) -> None:
    """Secrets will be inside: only their owner may read the file."""
    os.close(os.open(path, os.O_RDWR | os.O_CREAT, 0o600))


def _parameters(rows: Sequence[Row]) -> list[object]:
    return list(chain.from_iterable(rows))


def _translated(path: Path, failure: sqlite3.Error) -> StorageError:
    code = getattr(failure, "sqlite_errorcode", 0)
    if code in _NO_SPACE:
        return StorageFull(f"no space left for {path}: nothing was written ({failure})")
    if code & 0xFF in _DAMAGED:
        return StorageCorrupt(f"{path} is damaged or no database: {failure}")
    if code & 0xFF == sqlite3.SQLITE_IOERR:
        return Broken(f"the disk failed under {path}: {failure}; outcome unknown, open it anew")
    return Unavailable(f"{path}: {failure}")
