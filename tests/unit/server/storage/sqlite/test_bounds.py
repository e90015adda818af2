"""What bounds a store on SQLite: what is live, and the history that compaction has not reached."""

from __future__ import annotations

import asyncio
from pathlib import Path

from proreus.server.storage.revision_index import RevisionIndex
from proreus.server.storage.sqlite import SqliteStorage
from proreus.testing.virtual_clock import VirtualClock
from tests.growth import grows_with_its_square

PREFIX = "/registry/things/"
OBJECTS, VALUE, UPDATES = 50, bytes(20_000), 4


async def test_a_store_that_is_updated_for_ever_stays_as_large_as_what_can_be_read(
    tmp_path: Path,
) -> None:
    """Live objects, two rounds of history, and a quarter of the file that may be free."""
    path = tmp_path / "store.db"
    round_bytes = OBJECTS * UPDATES * len(VALUE)

    async def update(storage: SqliteStorage, key: str, revision: int) -> None:
        for _ in range(UPDATES):
            revision = await storage.update(key, VALUE, expected=revision)

    async with SqliteStorage.open(path, VirtualClock()) as storage:
        for number in range(OBJECTS):
            await storage.create(f"{PREFIX}{number}", VALUE)
        before = await storage.current_revision()
        for _ in range(6):
            items = (await storage.list(PREFIX)).items
            await asyncio.gather(*(update(storage, item.key, item.revision) for item in items))
            await storage.compact(before)
            before = await storage.current_revision()
        await storage.checkpoint()

    readable = OBJECTS * len(VALUE) + 2 * round_bytes
    # A value of 20 kB takes three pages of 8 kB.
    assert path.stat().st_size < readable * 1.3 / 0.75


def test_reading_the_past_by_pages_costs_what_the_pages_do() -> None:
    """A million keys are a thousand pages, none of which may look at the other keys."""

    def read_all(keys: int) -> None:
        index = RevisionIndex.replayed(
            (revision, f"{PREFIX}{revision}", False) for revision in range(2, keys + 2)
        )
        start, past = PREFIX, keys - 50
        while True:
            page = index.at(PREFIX, start, 10, past)
            if not page.remaining:
                return
            start = page.entries[-1].key + "\0"

    assert not grows_with_its_square(read_all, 1_000)
