"""The newest acknowledged revision, kept outside the database and its write-ahead log.

SQLite reads a write-ahead log up to the first frame that does not match its checksum and takes the
rest for a write that never ended: a log that was cut, emptied or damaged looks like a crash before
those writes. They had been acknowledged, and their revisions would be given to other writes. With
the mark, opening finds out.

Written after each commit and before its acknowledgement, without an fsync: after a crash of the
process it is exact, after a power failure it may be older than the database, never newer.
"""

from __future__ import annotations

import os
import struct
import zlib
from pathlib import Path

import structlog

from proreus.server.storage.interface import StorageCorrupt

_log = structlog.get_logger(__name__)
_MARK = struct.Struct("<QI")  # revision, CRC-32 of it


class HighWaterMark:
    """An open mark at ``revision``. Written on the event loop: in the database's thread each call
    to the system would wait for the interpreter's lock."""

    def __init__(self, path: Path, revision: int) -> None:
        self._path = path
        self._has_failed = False
        self._descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_TRUNC, 0o600)
        self.raise_to(revision)

    def raise_to(self, revision: int) -> None:
        try:
            os.pwrite(self._descriptor, _packed(revision), 0)
        except OSError as failure:
            # The write itself is on disk and acknowledged; only its loss would not be noticed.
            if not self._has_failed:
                self._has_failed = True
                _log.error("mark not written", file=str(self._path), reason=failure.strerror)

    def close(self) -> None:
        os.close(self._descriptor)

    def __repr__(self) -> str:
        return f"<HighWaterMark {self._path}>"


def lost_writes(database: Path, newest: int) -> int:
    """Up to which revision writes are missing and were given up by the operator; 0: none is.

    Raises StorageCorrupt if acknowledged writes are missing that were not given up.
    """
    mark, given_up = _paths(database)
    if (lost := _read(given_up)) > newest:
        _log.error("acknowledged writes are lost", file=str(database), after=newest, up_to=lost)
        return lost
    if (acknowledged := _read(mark)) <= newest:
        return 0
    raise StorageCorrupt(
        f"{database} ends at revision {newest}, but writes up to {acknowledged} were acknowledged: "
        f"its write-ahead log was damaged, cut or removed, or an older copy was put in its place. "
        f"Restore the files, or give these writes up: mv {mark} {given_up}"
    )


def acknowledged(database: Path) -> int:
    """Up to which revision clients may have seen writes, as far as is remembered; 0: not at all."""
    return max(map(_read, _paths(database)))


def begin(database: Path, newest: int) -> HighWaterMark:
    """The mark of a database whose newest revision has been compared with the old one."""
    mark, given_up = _paths(database)
    begun = HighWaterMark(mark, newest)
    given_up.unlink(missing_ok=True)
    return begun


def _paths(database: Path) -> tuple[Path, Path]:
    name = database.name + ".mark"
    return database.with_name(name), database.with_name(name + ".lost")


def _read(path: Path) -> int:
    """The revision in a mark's file; 0 if there is none or it is damaged."""
    try:
        content = path.read_bytes()
    except FileNotFoundError:
        return 0
    if not content:
        return 0
    if len(content) == _MARK.size:
        revision: int = _MARK.unpack(content)[0]
        if content == _packed(revision):
            return revision
    _log.error("mark is damaged and begins anew", file=str(path))
    return 0


def _packed(revision: int) -> bytes:
    return _MARK.pack(revision, zlib.crc32(revision.to_bytes(8, "little")))
