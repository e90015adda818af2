"""Detects that the files of an open database were replaced or removed; then nothing is written.

SQLite writes to what it has opened. If the database is removed, a backup put in its place, or the
lock file removed, which lets a second process in, writes would be acknowledged that are gone with
this process, or that overwrite another's. Cost: one ``stat`` per file and commit.
"""

from __future__ import annotations

import os
from pathlib import Path

from proreus.server.storage.interface import StorageBroken
from proreus.server.storage.sqlite.errors import write_ahead_log


class OpenFiles:
    """What was at the paths when the database was opened."""

    def __init__(self, path: Path) -> None:
        log = write_ahead_log(path)
        self._log = str(log)
        files = (path, log, path.with_name(path.name + ".lock"))
        self._known = [(str(file), *found) for file in files if (found := _identity(file))]

    def check(self, *, is_closing: bool = False) -> None:
        """``is_closing``: the thread may have closed the database meanwhile, which removes the
        write-ahead log once the database has all of it. Raises StorageBroken."""
        stat = os.stat  # a Path takes twice as long, per commit
        for path, device, inode in self._known:
            if is_closing and path == self._log:
                continue
            try:
                found = stat(path)
            except FileNotFoundError as failure:
                raise _lost(path, "removed") from failure
            except OSError as failure:
                raise StorageBroken(
                    f"{path} cannot be reached any more: {failure.strerror}"
                ) from failure
            if found.st_ino != inode or found.st_dev != device:
                raise _lost(path, "replaced")


def _identity(path: Path) -> tuple[int, int] | None:
    try:
        found = path.stat()
    except FileNotFoundError:
        return None
    return found.st_dev, found.st_ino


def _lost(path: str, what: str) -> StorageBroken:
    return StorageBroken(
        f"{path} was {what} while it was in use: its last writes are not kept; what it held can "
        f"still be read from this process and is gone when it ends"
    )
