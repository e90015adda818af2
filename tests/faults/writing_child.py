"""A program that writes to a SQLite store with many writers and says what was acknowledged.

Run by the tests of crashes: ``python writing_child.py FILE WRITERS``. Each writer counts up its own
key; a line "writer number" goes to stdout, unbuffered, after the store has acknowledged it. Every
tenth number the key is deleted and created anew, and history is compacted all the time.
"""

from __future__ import annotations

import asyncio
import os
import sys

from proreus.aio.clock import SystemClock
from proreus.server.storage.sqlite import SqliteStorage


async def count_up(storage: SqliteStorage, writer: int) -> None:
    key = f"/registry/counters/{writer:03}"
    found = await storage.get(key)
    number, revision = (int(found.value.split()[0]), found.revision) if found else (0, 0)
    while True:
        number += 1
        value = b"%d %s" % (number, b"x" * 2_000)
        if revision and number % 10 == 0:
            await storage.delete(key, expected=revision)
            revision = 0
        if revision:
            revision = await storage.update(key, value, expected=revision)
        else:
            revision = await storage.create(key, value)
        os.write(1, b"%d %d\n" % (writer, number))


async def compact(storage: SqliteStorage) -> None:
    while True:
        current = await storage.current_revision()
        await storage.compact(max(0, current - 500))
        await asyncio.sleep(0.005)


async def main(path: str, writers: int) -> None:
    async with SqliteStorage.open(path, SystemClock()) as storage, asyncio.TaskGroup() as group:
        group.create_task(compact(storage))
        for writer in range(writers):
            group.create_task(count_up(storage, writer))


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1], int(sys.argv[2])))
