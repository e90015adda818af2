"""The SQLite store of a data folder: backed up while a server runs on it, restored while none does.

A new file is written beside its place, verified and synced before it takes it: whatever happens,
there is the old file or the whole new one.
"""

from __future__ import annotations

import sqlite3
from contextlib import closing, suppress
from dataclasses import replace
from pathlib import Path

from proreus.net.private_files import replacing
from proreus.server.storage.backup.extent import Copied, Extent, Progress
from proreus.server.storage.backup.file import NewLog, SavedLog, verified
from proreus.server.storage.interface import StorageError, Unavailable
from proreus.server.storage.sqlite import high_water_mark
from proreus.server.storage.sqlite.errors import write_ahead_log
from proreus.server.storage.sqlite.lock_file import locked


class StoreNotEmpty(StorageError):
    """A restore would remove what is there, and that was not asked for."""


def back_up_folder(database: Path, target: Path, progress: Progress) -> Copied:
    """Raises StorageError, OSError; ``target`` is then as it was."""
    check_target(target, database)
    with SavedLog.open(database) as source:
        return _copied(source, target, source.extent, progress)


def restore_folder(
    backup: Path, database: Path, *, overwrite: bool, skipped: int, progress: Progress
) -> Copied:
    """``skipped`` revisions are left out, because clients may remember them of a later state.

    Raises StoreNotEmpty, StorageLocked, StorageError, OSError; the store is then as it was.
    """
    with SavedLog.open(backup) as source:
        database.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        with locked(database.with_name(database.name + ".lock")):
            is_there = database.exists() and not _is_empty(database)
            if is_there and not overwrite:
                raise StoreNotEmpty(f"{database} has objects")
            extent, seen = source.extent, _seen(database)
            is_resumable = not is_there and seen <= extent.revision and not skipped
            if not is_resumable:
                extent = extent.behind(max(seen, extent.revision + skipped - 1))
            made = _copied(source, database, extent, progress)
            return replace(made, is_resumable=is_resumable)


def check_target(target: Path, database: Path | None) -> None:
    """A backup replaces an older one and nothing else. Raises Unavailable."""
    if not target.exists():
        return
    if database is not None and database.exists() and target.samefile(database):
        raise Unavailable(f"{target} is the store itself")
    if not target.is_file():
        raise Unavailable(f"{target} is no file")
    if target.stat().st_size:
        try:
            with SavedLog.open(target):
                pass
        except StorageError as why:
            raise Unavailable(f"{target} is there and is no backup: {why}") from why


def _copied(source: SavedLog, target: Path, extent: Extent, progress: Progress) -> Copied:
    with replacing(target) as partial:
        with NewLog(partial, target) as made:
            for copied in source.rows(progress):
                made.add(copied)
            made.finish(extent)
        result = Copied(extent, source.objects, tuple(source.damaged))
        verified(partial, target, result)
        _settle(target)
    return result


def _settle(database: Path) -> None:
    """Leave nothing beside the old file that would be taken for a part of the new one."""
    log = write_ahead_log(database)
    if log.exists():
        # Into the old file, so that it is whole until it is replaced; unless it is damaged.
        with suppress(sqlite3.Error), closing(sqlite3.connect(database)) as connection:
            connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
    for name in (log, database.with_name(database.name + "-shm")):
        name.unlink(missing_ok=True)


def _is_empty(database: Path) -> bool:
    """A damaged one, and another program's, is not."""
    if not database.stat().st_size:
        return True
    try:
        with SavedLog.open(database) as found:
            return found.is_empty
    except StorageError:
        return False


def _seen(database: Path) -> int:
    """The newest revision that clients may remember of this place."""
    seen = high_water_mark.acknowledged(database)
    if database.exists():
        with suppress(StorageError), SavedLog.open(database) as found:
            seen = max(seen, found.extent.revision) if not found.is_empty else seen
    return seen
