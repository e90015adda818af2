"""Translates errors of sqlite3 and the operating system into storage errors."""

from __future__ import annotations

import errno
import os
import shutil
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from proreus.server.storage.interface import (
    StorageBroken,
    StorageCorrupt,
    StorageError,
    StorageFull,
    StorageReadOnly,
    Unavailable,
)

_DAMAGED = {sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB}
_NO_SPACE = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}
# The index of the write-ahead log is a file too, made when the database is opened.
_SHARED_MEMORY = {
    sqlite3.SQLITE_IOERR_SHMOPEN,
    sqlite3.SQLITE_IOERR_SHMSIZE,
    sqlite3.SQLITE_IOERR_SHMMAP,
}
_SHARED_MEMORY_SIZE = 32 << 10
_PROBED = 8192 + 24  # a frame of the write-ahead log


@contextmanager
def translating(path: Path) -> Iterator[None]:
    """Failures of the body leave as storage errors about this database."""
    try:
        yield
    except sqlite3.Error as failure:
        raise translated(path, failure) from failure
    except OSError as failure:
        raise of_opening(path, failure) from failure


def write_ahead_log(path: Path) -> Path:
    return path.with_name(path.name + "-wal")


def translated(path: Path, failure: sqlite3.Error) -> StorageError:
    code = getattr(failure, "sqlite_errorcode", 0)
    if code == sqlite3.SQLITE_FULL or (code in _SHARED_MEMORY and _has_no_space(path)):
        return _full(path, str(failure))
    if code == sqlite3.SQLITE_IOERR_WRITE:
        # A quota, a limit of the file's size, a read-only file system or a failing disk: sqlite3
        # does not say which. Nothing was committed.
        return write_fault(path) or _broken(path, str(failure))
    if code & 0xFF in _DAMAGED or "decode to UTF-8" in str(failure):
        return StorageCorrupt(f"{path} is damaged or no database: {failure}")
    if code & 0xFF == sqlite3.SQLITE_READONLY:
        return _read_only(path, str(failure))
    if code & 0xFF == sqlite3.SQLITE_IOERR:
        return _broken(path, str(failure))
    return Unavailable(f"{path}: {failure}")


def write_fault(path: Path) -> StorageError | None:
    """Why the write-ahead log cannot grow; None if it can.

    Between transactions SQLite ignores what follows the last frame, so a probe there does no harm.
    """
    try:
        descriptor = os.open(write_ahead_log(path), os.O_WRONLY)
        try:
            size = os.fstat(descriptor).st_size
            try:
                os.pwrite(descriptor, bytes(_PROBED), size)
                # Written into the cache only: space is promised by some systems before it is taken.
            finally:
                os.ftruncate(descriptor, size)
        finally:
            os.close(descriptor)
    except OSError as failure:
        if failure.errno in _NO_SPACE:
            return _full(path, os.strerror(failure.errno))
        if failure.errno == errno.EROFS:
            return _read_only(path, os.strerror(errno.EROFS))
        return _broken(path, failure.strerror or str(failure))
    return None


def of_opening(path: Path, failure: OSError) -> StorageError:
    return Unavailable(f"cannot open {path}: {failure.strerror}")


def _has_no_space(path: Path) -> bool:
    return shutil.disk_usage(path.parent).free < _SHARED_MEMORY_SIZE


def _full(path: Path, reason: str) -> StorageFull:
    return StorageFull(f"no space left for {path}: nothing was written ({reason})")


def _read_only(path: Path, reason: str) -> StorageReadOnly:
    return StorageReadOnly(f"{path} cannot be written to: nothing was written ({reason})")


def _broken(path: Path, reason: str) -> StorageBroken:
    return StorageBroken(
        f"the disk failed under {path} ({reason}): whether the last writes are on it is decided "
        f"when it is opened again"
    )
