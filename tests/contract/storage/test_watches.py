"""Watches: every change after a revision, once, in order, with what was there before."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import pytest

from proreus.aio.clock import SystemClock
from proreus.server.storage.interface import Change, ChangeBatch, Storage, StoredValue
from proreus.server.storage.progress import asking_for_progress


async def take(watch: AsyncIterator[ChangeBatch], count: int) -> list[Change]:
    """The next ``count`` changes; every batch keeps its promise about its revision."""
    changes: list[Change] = []
    async with asyncio.timeout(60):
        while len(changes) < count:
            batch = await anext(watch)
            assert not batch.changes or batch.revision >= batch.changes[-1].revision
            changes += batch.changes
    assert len(changes) == count
    revisions = [change.revision for change in changes]
    assert revisions == sorted(revisions)
    return changes


async def reach(storage: Storage, watch: AsyncIterator[ChangeBatch], revision: int) -> int:
    """Read until the watch says it has given everything up to ``revision``; how many changes."""
    seen = 0
    async with asyncio.timeout(60), asking_for_progress(storage, SystemClock()):
        while True:
            batch = await anext(watch)
            seen += len(batch.changes)
            if batch.revision >= revision:
                return seen


async def test_a_watch_reports_creation_change_and_deletion(storage: Storage, place: str) -> None:
    """Guarantee: reliable"""
    key = place + "a"
    async with storage.watch(place, after=await storage.current_revision()) as watch:
        one = await storage.create(key, b"1")
        two = await storage.update(key, b"2", expected=one)
        three = await storage.delete(key, expected=two)

        changes = await take(watch, 3)

    first, second = StoredValue(key, b"1", one), StoredValue(key, b"2", two)
    assert changes == [
        Change(one, key, None, first),
        Change(two, key, first, second),
        Change(three, key, second, None),
    ]


async def test_a_watch_without_old_values_reports_the_same_changes(
    storage: Storage, place: str
) -> None:
    """Guarantee: reliable"""
    key, after = place + "a", await storage.current_revision()
    async with storage.watch(place, after=after, with_old=False) as watch:
        one = await storage.create(key, b"1")
        two = await storage.update(key, b"2", expected=one)
        three = await storage.delete(key, expected=two)

        changes = await take(watch, 3)

    assert [(change.revision, change.key, change.new) for change in changes] == [
        (one, key, StoredValue(key, b"1", one)),
        (two, key, StoredValue(key, b"2", two)),
        (three, key, None),
    ]


async def test_a_watch_receives_the_same_if_the_writer_had_the_old_value_at_hand(
    storage: Storage, place: str
) -> None:
    key = place + "a"
    async with storage.watch(place, after=await storage.current_revision()) as watch:
        one = await storage.create(key, b"1")
        two = await storage.update(key, b"2", expected=one, replaced=b"1")
        three = await storage.delete(key, expected=two, replaced=b"2")

        changes = await take(watch, 3)

    first, second = StoredValue(key, b"1", one), StoredValue(key, b"2", two)
    assert changes[1:] == [
        Change(two, key, first, second),
        Change(three, key, second, None),
    ]


async def test_a_watch_from_the_past_reports_what_followed(storage: Storage, place: str) -> None:
    """Guarantee: resumable"""
    key = place + "a"
    one = await storage.create(key, b"1")
    two = await storage.update(key, b"2", expected=one)
    three = await storage.delete(key, expected=two)
    four = await storage.create(key, b"4")

    for after, expected in ((one - 1, [one, two, three, four]), (two, [three, four])):
        async with storage.watch(place, after=after) as watch:
            changes = await take(watch, len(expected))
        assert [change.revision for change in changes] == expected

    assert [change.old.value if change.old else None for change in changes] == [b"2", None]


async def test_a_watch_continues_from_the_past_into_the_present(
    storage: Storage, place: str
) -> None:
    """Guarantee: unique"""
    start = await storage.current_revision()
    for number in range(50):
        await storage.create(f"{place}old-{number}", b"x")

    async with storage.watch(place, after=start) as watch, asyncio.TaskGroup() as group:
        reading = group.create_task(take(watch, 100))
        for number in range(50):
            await storage.create(f"{place}new-{number}", b"x")

    revisions = [change.revision for change in reading.result()]
    assert revisions == list(range(start + 1, start + 101))


async def test_a_watch_sees_only_its_prefix(storage: Storage, place: str) -> None:
    start = await storage.current_revision()
    for key in ("pods/a", "podsx/a", "pods/b", "secrets/a", "pod/a"):
        await storage.create(place + key, b"old")

    async with storage.watch(place + "pods/", after=start) as watch:
        old = await take(watch, 2)
        for key in ("secrets/b", "pods/c", "podsx/b"):
            await storage.create(place + key, b"new")
        new = await take(watch, 1)
        last = await storage.current_revision()
        assert await reach(storage, watch, last) == 0

    assert [c.key.removeprefix(place) for c in old + new] == ["pods/a", "pods/b", "pods/c"]


async def test_many_watches_see_the_same(storage: Storage, place: str) -> None:
    """Guarantee: ordered"""
    start = await storage.current_revision()

    async def follow(after: int) -> list[Change]:
        async with storage.watch(place, after=after) as watch:
            return await take(watch, 40)

    async def write(writer: int) -> None:
        for number in range(10):
            await storage.create(f"{place}{writer}-{number}", b"x")

    async with asyncio.TaskGroup() as group:
        readers = [group.create_task(follow(start)) for _ in range(5)]
        for writer in range(4):
            group.create_task(write(writer))

    assert all(reader.result() == readers[0].result() for reader in readers)
    assert len({change.key for change in readers[0].result()}) == 40


async def test_a_watch_can_be_resumed_after_any_batch(storage: Storage, place: str) -> None:
    """Guarantee: resumable"""
    after = start = await storage.current_revision()
    for number in range(60):
        await storage.create(f"{place}{number}", b"x")

    revisions: list[int] = []
    while len(revisions) < 60:
        async with storage.watch(place, after=after) as watch, asyncio.timeout(60):
            batch = await anext(watch)
        revisions += [change.revision for change in batch.changes]
        after = batch.revision

    assert revisions == list(range(start + 1, start + 61))


async def test_a_watch_from_the_future_waits_for_it(storage: Storage, place: str) -> None:
    current = await storage.current_revision()

    async with storage.watch(place, after=current + 2) as watch:
        for number in range(4):
            await storage.create(f"{place}{number}", b"x")
        changes = await take(watch, 2)

    assert [change.revision for change in changes] == [current + 3, current + 4]


async def test_progress_is_sent_on_request(storage: Storage, place: str) -> None:
    """Guarantee: bookmarkable"""
    async with storage.watch(place + "quiet/", after=await storage.current_revision()) as watch:
        written = await storage.create(place + "loud/a", b"x")

        assert await reach(storage, watch, written) == 0


async def test_progress_never_runs_ahead_of_changes(storage: Storage, place: str) -> None:
    """Guarantee: bookmarkable"""
    promised = start = await storage.current_revision()
    written: list[int] = []
    seen: list[int] = []
    promises: list[tuple[int, int]] = []  # how far, and how many changes had been given

    async with storage.watch(place, after=start) as watch, asyncio.TaskGroup() as group:

        async def write() -> None:
            for number in range(50):
                written.append(await storage.create(f"{place}{number}", b"x"))
                await storage.request_progress()

        group.create_task(write())
        async with asyncio.timeout(60):
            while len(seen) < 50:
                batch = await anext(watch)
                assert all(change.revision > promised for change in batch.changes)
                seen += [change.revision for change in batch.changes]
                assert batch.revision >= promised
                promised = batch.revision
                promises.append((promised, len(seen)))

    assert seen == written
    assert all(sum(rev <= upto for rev in written) == given for upto, given in promises)


async def test_a_writer_never_knows_before_a_watch_does(storage: Storage, place: str) -> None:
    """After an acknowledged write, progress at the store's revision includes its change."""
    async with storage.watch(place, after=await storage.current_revision()) as watch:
        written = await storage.create(place + "a", b"x")
        assert await reach(storage, watch, await storage.current_revision()) == 1
        assert written <= await storage.current_revision()


async def test_a_slow_watch_misses_nothing(storage: Storage, place: str) -> None:
    """Guarantee: isolated"""
    start = await storage.current_revision()
    value = bytes(20_000)
    async with (
        storage.watch(place, after=start) as slow,
        storage.watch(place, after=start) as quick,
    ):
        for first in range(0, 600, 50):
            await asyncio.gather(
                *(storage.create(f"{place}{n}", value) for n in range(first, first + 50))
            )
            await take(quick, 50)
        changes = await take(slow, 600)

    assert [change.revision for change in changes] == list(range(start + 1, start + 601))


async def test_a_watch_that_is_left_stops(storage: Storage, place: str) -> None:
    after = await storage.current_revision()
    with pytest.raises(LookupError):
        async with storage.watch(place, after=after):
            raise LookupError

    async with storage.watch(place, after=after) as watch:
        waiting = asyncio.ensure_future(anext(watch))
        await asyncio.sleep(0)
        waiting.cancel()
        await asyncio.gather(waiting, return_exceptions=True)

    assert await storage.create(place + "a", b"x") == after + 1
