"""Values and rows of the log, read by one connection. Blocking; its thread owns it."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from pathlib import Path

import structlog

from proreus.server.storage.interface import DAMAGED
from proreus.server.storage.sqlite import checksums, errors, statements
from proreus.server.storage.sqlite.rows import Version

_log = structlog.get_logger(__name__)
_JOINED_MAX = 100  # values joined by one statement; more would be copied more often


class RowReader:
    """Raises storage errors, as ``Database`` does. Damaged values are reported once."""

    def __init__(self, path: Path, connection: sqlite3.Connection) -> None:
        self._path = path
        self._connection = connection
        self._reported: set[int] = set()

    def read(self, revisions: Sequence[int]) -> dict[int, bytes]:
        """The values written at these revisions; what compaction took is left out."""
        with errors.translating(self._path):
            return self._read_all(revisions)

    def _read_all(self, revisions: Sequence[int]) -> dict[int, bytes]:
        values: dict[int, bytes] = {}
        for first in range(0, len(revisions), _JOINED_MAX):
            values |= self._read(revisions[first : first + _JOINED_MAX])
        return values

    def _read(self, revisions: Sequence[int]) -> dict[int, bytes]:
        try:
            found = self._connection.execute(statements.values_of(revisions)).fetchone()
        except sqlite3.DataError:  # more than SQLite's longest blob together
            if len(revisions) == 1:
                raise
            half = len(revisions) // 2
            return self._read(revisions[:half]) | self._read(revisions[half:])
        if found[0] is None:
            return {}
        numbers, lengths, sums = (map(int, joined.split(",")) for joined in found[:3])
        values: dict[int, bytes] = {}
        at = 0
        for revision, length, checksum in zip(numbers, lengths, sums, strict=True):
            value = values[revision] = found[3][at : at + length]
            at += length
            if checksum != statements.NO_CHECKSUM and not checksums.is_value(value, checksum):
                values[revision] = DAMAGED
                self._report_damaged(revision)
        return values

    def _report_damaged(self, revision: int) -> None:
        if revision in self._reported:
            return
        self._reported.add(revision)
        (key,) = self._connection.execute(statements.KEY_OF, (revision,)).fetchone()
        _log.error(
            "stored value is damaged and served empty",
            file=str(self._path),
            key=key,
            revision=revision,
            remedy="delete the object and create it again, or restore a backup; check the disk",
        )

    def verify(self, after: int, limit: int) -> int:
        """Compare the next values with their checksums; returns how far it is, 0 at the end."""
        with errors.translating(self._path):
            rows = self._connection.execute(statements.VALUES, (after, limit)).fetchall()
            for revision, value, checksum in rows:
                if checksum is not None and not checksums.is_value(value, checksum):
                    self._report_damaged(revision)
        return rows[-1][0] if rows else 0

    def versions_after(self, revision: int, limit: int) -> list[Version]:
        with errors.translating(self._path):
            rows = self._connection.execute(statements.CHANGES, (revision, limit))
            return [Version(rev, key, old, bool(gone)) for rev, key, old, gone in rows]

    def __repr__(self) -> str:
        return f"<RowReader of {self._path}>"
