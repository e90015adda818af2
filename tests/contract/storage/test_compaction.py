"""History ends somewhere: compaction forgets it, and says so; TTL ends an object."""

from __future__ import annotations

import asyncio
import contextlib
import itertools

import pytest

from proreus.server.storage.interface import (
    Change,
    Compacted,
    FutureRevision,
    RevisionConflict,
    Storage,
)
from tests.contract.storage.conftest import Backend


async def churn(storage: Storage, key: str, times: int) -> list[int]:
    revisions = [await storage.create(key, b"0")]
    for number in range(1, times):
        revisions.append(await storage.update(key, str(number).encode(), expected=revisions[-1]))
    return revisions


async def test_what_is_live_survives_compaction(storage: Storage, place: str) -> None:
    await storage.create(place + "quiet", b"x")
    revisions = await churn(storage, place + "busy", 5)

    await storage.compact(revisions[-1])

    page = await storage.list(place)
    assert [item.value for item in page.items] == [b"4", b"x"]
    assert page.revision == revisions[-1]
    assert storage.compacted_revision == revisions[-1]


async def test_the_compacted_revision_itself_stays_readable(storage: Storage, place: str) -> None:
    revisions = await churn(storage, place + "a", 5)

    await storage.compact(revisions[2])

    assert [item.value for item in (await storage.list(place, revision=revisions[2])).items] == [
        b"2"
    ]
    assert [item.value for item in (await storage.list(place, revision=revisions[3])).items] == [
        b"3"
    ]


async def test_a_list_before_the_compaction_is_refused(storage: Storage, place: str) -> None:
    revisions = await churn(storage, place + "a", 5)
    await storage.compact(revisions[3])

    with pytest.raises(Compacted) as raised:
        await storage.list(place, revision=revisions[1])

    assert raised.value.wanted == revisions[1]
    assert raised.value.compacted == revisions[3]


async def test_a_watch_from_before_the_compaction_is_refused(storage: Storage, place: str) -> None:
    revisions = await churn(storage, place + "a", 5)
    await storage.compact(revisions[3])

    with pytest.raises(Compacted) as raised:
        async with storage.watch(place, after=revisions[0]) as watch, asyncio.timeout(60):
            await anext(watch)

    assert raised.value.compacted == revisions[3]


async def test_a_watch_from_the_compacted_revision_has_previous_values(
    storage: Storage, place: str
) -> None:
    revisions = await churn(storage, place + "a", 5)
    await storage.compact(revisions[3])

    async with storage.watch(place, after=revisions[3]) as watch, asyncio.timeout(60):
        batch = await anext(watch)

    (change,) = batch.changes
    assert change.old is not None
    assert (change.old.value, change.old.revision) == (b"3", revisions[3])


async def test_an_open_watch_goes_on_after_compaction(storage: Storage, place: str) -> None:
    async with storage.watch(place, after=await storage.current_revision()) as watch:
        revisions = await churn(storage, place + "a", 3)
        seen = 0
        async with asyncio.timeout(60):
            while seen < 3:
                seen += len((await anext(watch)).changes)
            await storage.compact(revisions[-1])
            last = await storage.update(place + "a", b"new", expected=revisions[-1])
            batch = await anext(watch)
            while not batch.changes:
                batch = await anext(watch)

    assert [change.revision for change in batch.changes] == [last]
    assert batch.changes[0].old is not None


async def test_compacting_the_future_is_refused(storage: Storage) -> None:
    current = await storage.current_revision()

    with pytest.raises(FutureRevision):
        await storage.compact(current + 100)


async def test_compacting_again_changes_nothing(storage: Storage, place: str) -> None:
    revisions = await churn(storage, place + "a", 4)
    await storage.compact(revisions[2])

    await storage.compact(revisions[2])
    await storage.compact(revisions[1])

    assert storage.compacted_revision == revisions[2]


async def test_deleted_keys_are_forgotten_and_can_come_back(storage: Storage, place: str) -> None:
    one = await storage.create(place + "a", b"1")
    gone = await storage.delete(place + "a", expected=one)
    await storage.compact(gone)

    assert (await storage.list(place)).items == ()
    assert await storage.current_revision() == gone
    again = await storage.create(place + "a", b"2")

    assert again == gone + 1
    async with storage.watch(place, after=gone) as watch, asyncio.timeout(60):
        batch = await anext(watch)
    assert batch.changes[0].old is None


async def test_a_key_with_a_ttl_is_deleted_when_it_ends(backend: Backend, place: str) -> None:
    storage = backend.storage
    async with storage.watch(place, after=await storage.current_revision()) as watch:
        await storage.create(place + "long", b"y", ttl_s=3600)
        created = await storage.create(place + "short", b"x", ttl_s=2)
        await backend.let_pass(2.5)

        changes: list[Change] = []
        async with asyncio.timeout(60):
            while len(changes) < 3:
                changes += (await anext(watch)).changes

    assert changes[2].key == place + "short"
    assert changes[2].new is None
    assert changes[2].old is not None
    assert (changes[2].old.revision, changes[2].old.value) == (created, b"x")
    assert [item.key for item in (await storage.list(place)).items] == [place + "long"]


async def test_an_update_starts_a_ttl_anew_or_ends_it(backend: Backend, place: str) -> None:
    storage = backend.storage
    kept = await without_its_ttl(storage, place)
    short = await storage.create(place + "short", b"x", ttl_s=3600)
    changed = await storage.update(place + "short", b"y", expected=short, ttl_s=2)

    async with storage.watch(place, after=changed) as watch:
        await backend.let_pass(2.5)
        changes: list[Change] = []
        async with asyncio.timeout(60):
            while not changes:
                changes += (await anext(watch)).changes

    assert [change.key for change in changes] == [place + "short"]
    assert await storage.get(kept) is not None


async def without_its_ttl(storage: Storage, place: str) -> str:
    """A key whose TTL of two seconds was taken away in time, which a slow machine may miss."""
    for number in itertools.count():
        key = f"{place}kept-{number}"
        created = await storage.create(key, b"x", ttl_s=2)
        with contextlib.suppress(RevisionConflict):
            await storage.update(key, b"y", expected=created)
            return key
    raise AssertionError("unreachable")
