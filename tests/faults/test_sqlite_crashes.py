"""kill -9 in the middle of writes, many times: every acknowledged write is there."""

from __future__ import annotations

import asyncio
import signal
import subprocess
import sys
from pathlib import Path

from proreus.server.storage.interface import StoredValue
from proreus.server.storage.sqlite import SqliteStorage
from proreus.testing.virtual_clock import VirtualClock

CHILD = Path(__file__).with_name("writing_child.py")
WRITERS = 40
ROUNDS = 10


def write_and_be_killed(path: Path, acknowledged_min: int) -> dict[int, int]:
    """The last number each writer saw acknowledged before the process was killed."""
    command = [sys.executable, "-W", "error", str(CHILD), str(path), str(WRITERS)]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as child:
        assert child.stdout is not None
        lines = [child.stdout.readline() for _ in range(acknowledged_min)]
        child.send_signal(signal.SIGKILL)
        lines += child.stdout.readlines()
        assert child.wait() == -signal.SIGKILL
    last: dict[int, int] = {}
    for line in lines:
        if line.endswith(b"\n"):
            writer, number = map(int, line.split())
            last[writer] = number
    return last


async def stored(path: Path) -> tuple[dict[int, int], int]:
    async with SqliteStorage.open(path, VirtualClock()) as storage:
        page = await storage.list("/registry/counters/")
        await check_history(storage, page.items)
        return {
            int(item.key[-3:]): int(item.value.split()[0]) for item in page.items
        }, page.revision


async def check_history(storage: SqliteStorage, items: tuple[StoredValue, ...]) -> None:
    """What the log tells since the last compaction leads to the present state."""
    after = max(1, storage.compacted_revision)
    page = await storage.list("/registry/counters/", revision=after)
    state = {item.key: item for item in page.items}
    newest = await storage.current_revision()
    async with storage.watch("/registry/counters/", after=after) as watch, asyncio.timeout(60):
        while after < newest:
            batch = await anext(watch)
            for change in batch.changes:
                assert change.old == state.get(change.key)
                if change.new is not None:
                    state[change.key] = change.new
                else:
                    del state[change.key]
            after = batch.revision
    assert state == {item.key: item for item in items}


def test_every_acknowledged_write_survives_kill_9(tmp_path: Path) -> None:
    """Guarantee: durable"""
    path = tmp_path / "store.db"
    acknowledged: dict[int, int] = {}
    revision = 0

    for number in range(ROUNDS):
        acknowledged |= write_and_be_killed(path, acknowledged_min=200 + 97 * number)
        found, newest = asyncio.run(stored(path))

        assert newest > revision
        revision = newest
        for writer, last in acknowledged.items():
            # The next write may be there too: committed, but killed before it could say so. If
            # that was the deletion before a tenth number, there is no value.
            assert found.get(writer, last) in (last, last + 1), (number, writer)
            assert writer in found or (last + 1) % 10 == 0
        acknowledged = found
