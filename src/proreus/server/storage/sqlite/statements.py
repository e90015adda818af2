"""The schema of the database file and every statement run on it.

``log`` holds one row per write: its revision, the key, the revision it replaced (0: none), when
the key ends, a checksum (``checksums``; NULL: written by format 1, which had none) and the value
(NULL: a deletion). There is no index but the revision: which row is
live is known in memory, rebuilt at open, because an index on disk would halve the write rate.

Rows are written and read many at a time by one statement: the interpreter's lock is given up and
taken back once per step of a statement, and a busy event loop makes each of these wait.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

APPLICATION_ID = 0x70726F72  # "pror", at offset 68 of the file, so that file(1) can tell
FORMAT = 2

# Before the first table, and only then: the file keeps them.
PAGE_SIZE = 8192
NEW_FILE = (f"PRAGMA page_size = {PAGE_SIZE}", "PRAGMA auto_vacuum = INCREMENTAL")

_AUTOCHECKPOINT = 8000

EACH_OPEN = (
    "PRAGMA journal_mode = WAL",
    "PRAGMA cache_size = -65536",
    f"PRAGMA wal_autocheckpoint = {_AUTOCHECKPOINT}",
    "PRAGMA fullfsync = 1",
    "PRAGMA checkpoint_fullfsync = 1",
    "PRAGMA cell_size_check = 1",
    "PRAGMA temp_store = MEMORY",
)

SCHEMA = (
    """CREATE TABLE log (
        revision INTEGER PRIMARY KEY,
        key TEXT NOT NULL,
        replaced INTEGER NOT NULL,
        expires REAL,
        checksum INTEGER,
        value BLOB
    ) STRICT""",
    "CREATE TABLE state (compacted INTEGER NOT NULL) STRICT",
    "INSERT INTO state VALUES (0)",
    f"PRAGMA application_id = {APPLICATION_ID}",
    f"PRAGMA user_version = {FORMAT}",
)

# From format 1, without touching a row. There the checksum stands behind the value, and is reached
# through its overflow pages: columns are named in every statement.
MIGRATION = ("ALTER TABLE log ADD COLUMN checksum INTEGER", f"PRAGMA user_version = {FORMAT}")

LOAD = "SELECT revision, key, replaced, expires, value IS NULL, checksum FROM log ORDER BY revision"
KEY_OF = "SELECT key FROM log WHERE revision = ?"
VALUES = (
    "SELECT revision, value, checksum FROM log WHERE revision > ? AND value IS NOT NULL"
    " ORDER BY revision LIMIT ?"
)
CHANGES = (
    "SELECT revision, key, replaced, value IS NULL FROM log "
    "WHERE revision > ? ORDER BY revision LIMIT ?"
)
SET_COMPACTED = "UPDATE state SET compacted = ?"

NO_CHECKSUM = -1
INSERTED_MAX = 100
# As many as there are sizes of an insert, and the others: none is prepared twice.
PREPARED_MAX = INSERTED_MAX + 50
_ROW = "(?, ?, ?, ?, ?, ?)"


@cache
def insert(rows: int) -> str:
    """Of one to ``INSERTED_MAX`` rows: a transaction of its own."""
    assert 0 < rows <= INSERTED_MAX
    columns = "(revision, key, replaced, expires, checksum, value)"
    return f"INSERT INTO log {columns} VALUES " + ", ".join([_ROW] * rows)


def values_of(revisions: Sequence[int]) -> str:
    """Lengths, checksums and joined values of rows, in one result row: one step however many."""
    return (
        "SELECT group_concat(revision), group_concat(length(value)),"
        f" group_concat(coalesce(checksum, {NO_CHECKSUM})),"
        " CAST(group_concat(value, '') AS BLOB) FROM"
        f" (SELECT revision, value, checksum FROM log WHERE revision IN ({_numbers(revisions)})"
        " ORDER BY revision)"
    )


def autocheckpoint(pages: int | None) -> str:
    """None: the usual number of pages in the write-ahead log."""
    return f"PRAGMA wal_autocheckpoint = {pages or _AUTOCHECKPOINT}"


def delete(revisions: Sequence[int]) -> str:
    return f"DELETE FROM log WHERE revision IN ({_numbers(revisions)})"


def _numbers(revisions: Sequence[int]) -> str:
    return ",".join(map(str, revisions))
