"""Reads while the database's thread is held up, by a disk that takes seconds for an fsync.

A read of a value waits for the thread, which waits for the disk; what is on disk already could be
read at once. So a read that was not answered soon is asked a second time, by a connection of its
own that is closed again: only a slow disk pays for it. A revision's value never changes, and both
see what is committed, so that it does not matter who answers.
"""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import TypeVar

from proreus.aio.clock import Clock, deadline
from proreus.server.storage.interface import StorageError
from proreus.server.storage.sqlite import errors
from proreus.server.storage.sqlite.row_reader import RowReader

T = TypeVar("T")
_HELD_UP_S = 0.1


async def first_answer(asked: asyncio.Task[T], clock: Clock, aside: Callable[[], T]) -> T:
    """What the thread answers, or ``aside`` if the thread takes its time."""
    try:
        try:
            async with deadline(clock, _HELD_UP_S):
                return await asyncio.shield(asked)
        except TimeoutError:
            pass
        try:
            return await asyncio.to_thread(aside)
        except StorageError:
            # A file that was removed can be read only by who has it open. No deadline: see above.
            return await asked
    finally:
        asked.cancel()


def read_aside(path: Path, function: Callable[[RowReader], T]) -> T:
    """Blocking. Raises StorageError."""
    with (
        errors.translating(path),
        closing(sqlite3.connect(f"{path.absolute().as_uri()}?mode=rw", uri=True)) as connection,
    ):
        connection.execute("PRAGMA query_only = 1")
        return function(RowReader(path, connection))
