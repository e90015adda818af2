"""Create, update, delete and get: one key at a time, compared and swapped."""

from __future__ import annotations

import asyncio

import pytest

from proreus.server.storage.interface import (
    VALUE_BYTES_MAX,
    FutureRevision,
    InvalidKey,
    KeyExists,
    RevisionConflict,
    Storage,
    StorageError,
    StoredValue,
    ValueTooLarge,
)
from proreus.server.storage.resource_store import ResourceStore


async def test_a_created_key_is_read_back_with_its_revision(storage: Storage, place: str) -> None:
    revision = await storage.create(place + "a", b"one")

    assert await storage.get(place + "a") == StoredValue(place + "a", b"one", revision)


async def test_a_missing_key_reads_as_none(storage: Storage, place: str) -> None:
    assert await storage.get(place + "a") is None


async def test_creating_an_existing_key_reports_what_is_there(storage: Storage, place: str) -> None:
    revision = await storage.create(place + "a", b"one")

    with pytest.raises(KeyExists) as raised:
        await storage.create(place + "a", b"two")

    assert raised.value.current == StoredValue(place + "a", b"one", revision)
    assert await storage.current_revision() == revision


async def test_every_write_takes_the_next_revision(storage: Storage, place: str) -> None:
    before = await storage.current_revision()

    first = await storage.create(place + "a", b"1")
    second = await storage.create(place + "b", b"2")
    third = await storage.update(place + "a", b"3", expected=first)
    fourth = await storage.delete(place + "b", expected=second)

    assert [first, second, third, fourth] == [before + i for i in (1, 2, 3, 4)]
    assert await storage.current_revision() == fourth


async def test_an_update_replaces_the_value_it_expects(storage: Storage, place: str) -> None:
    created = await storage.create(place + "a", b"one")

    updated = await storage.update(place + "a", b"two", expected=created)

    assert await storage.get(place + "a") == StoredValue(place + "a", b"two", updated)


async def test_an_update_of_a_stale_revision_reports_what_is_there(
    storage: Storage, place: str
) -> None:
    created = await storage.create(place + "a", b"one")
    updated = await storage.update(place + "a", b"two", expected=created)

    with pytest.raises(RevisionConflict) as raised:
        await storage.update(place + "a", b"three", expected=created)

    assert raised.value.current == StoredValue(place + "a", b"two", updated)
    assert await storage.current_revision() == updated


async def test_an_update_of_a_missing_key_finds_nothing(storage: Storage, place: str) -> None:
    with pytest.raises(RevisionConflict) as raised:
        await storage.update(place + "a", b"one", expected=5)

    assert raised.value.current is None


async def test_equal_bytes_are_still_a_write(storage: Storage, place: str) -> None:
    created = await storage.create(place + "a", b"one")

    assert await storage.update(place + "a", b"one", expected=created) == created + 1


async def test_a_deleted_key_is_gone_and_can_be_created_again(storage: Storage, place: str) -> None:
    created = await storage.create(place + "a", b"one")

    deleted = await storage.delete(place + "a", expected=created)
    assert await storage.get(place + "a") is None
    again = await storage.create(place + "a", b"two")

    assert created < deleted < again
    assert await storage.get(place + "a") == StoredValue(place + "a", b"two", again)


@pytest.mark.parametrize("stale_by", [0, 1])
async def test_a_delete_of_another_revision_removes_nothing(
    storage: Storage, place: str, stale_by: int
) -> None:
    created = await storage.create(place + "a", b"one")
    current = await storage.update(place + "a", b"two", expected=created)

    with pytest.raises(RevisionConflict) as raised:
        await storage.delete(place + "a", expected=created - stale_by)

    assert raised.value.current == StoredValue(place + "a", b"two", current)
    assert await storage.get(place + "a") is not None


async def test_a_delete_of_a_missing_key_finds_nothing(storage: Storage, place: str) -> None:
    with pytest.raises(RevisionConflict) as raised:
        await storage.delete(place + "a", expected=7)

    assert raised.value.current is None


async def test_values_are_any_bytes(storage: Storage, place: str) -> None:
    values = [b"", b"\x00\xff", bytes(range(256)) * 1000, "ünï".encode()]

    for number, value in enumerate(values):
        await storage.create(f"{place}{number}", value)

    found = [await storage.get(f"{place}{number}") for number in range(len(values))]
    assert [item.value for item in found if item] == values


async def test_a_minimum_revision_that_is_reached_reads_the_newest(
    storage: Storage, place: str
) -> None:
    created = await storage.create(place + "a", b"one")
    updated = await storage.update(place + "a", b"two", expected=created)

    found = await storage.get(place + "a", at_least=created)

    assert found is not None
    assert found.revision == updated


async def test_a_minimum_revision_in_the_future_is_refused(storage: Storage, place: str) -> None:
    current = await storage.create(place + "a", b"one")

    with pytest.raises(FutureRevision) as raised:
        await storage.get(place + "a", at_least=current + 1000)

    assert raised.value.wanted == current + 1000
    assert raised.value.current == current


@pytest.mark.parametrize(
    "key",
    ["", "/", "a", "a/b", "/registry/../secrets/a", "/registry/pods/..", "/registry/./a",
     "/registry//a", "//", "/registry/pods/", "/registry/a\0b", "/registry/\ud800"],
)  # fmt: skip
async def test_a_key_outside_the_key_space_is_refused(storage: Storage, key: str) -> None:
    for attempt in (
        storage.create(key, b"x"),
        storage.update(key, b"x", expected=1),
        storage.delete(key, expected=1),
        storage.get(key),
    ):
        with pytest.raises(InvalidKey, match="invalid key"):
            await attempt


@pytest.mark.parametrize("prefix", ["", "registry/", "/registry", "/a/../", "/a//", "//"])
async def test_a_prefix_outside_the_key_space_is_refused(storage: Storage, prefix: str) -> None:
    with pytest.raises(InvalidKey, match="invalid prefix"):
        await storage.list(prefix)
    with pytest.raises(InvalidKey, match="invalid prefix"):
        await storage.count(prefix)
    with pytest.raises(InvalidKey, match="invalid prefix"):
        async with storage.watch(prefix, after=0):
            pass


async def test_names_with_dots_and_other_letters_are_keys(storage: Storage, place: str) -> None:
    names = ["..a", "a..", "...", "a.b", "système", "名前", "a b", "a%2Fb"]

    for name in names:
        await storage.create(place + name, name.encode())

    page = await storage.list(place)
    assert sorted(item.value.decode() for item in page.items) == sorted(names)


async def test_of_many_concurrent_creates_one_wins(storage: Storage, place: str) -> None:
    """Guarantee: atomic"""

    async def attempt(number: int) -> int | StorageError:
        try:
            return await storage.create(place + "a", str(number).encode())
        except KeyExists as lost:
            return lost

    results = await asyncio.gather(*(attempt(number) for number in range(20)))

    winners = [number for number, result in enumerate(results) if isinstance(result, int)]
    assert len(winners) == 1
    stored = await storage.get(place + "a")
    assert stored is not None
    assert stored.value == str(winners[0]).encode()
    losers = [result for result in results if isinstance(result, KeyExists)]
    assert {loser.current for loser in losers} == {stored}


async def test_concurrent_increments_lose_none(storage: Storage, place: str) -> None:
    """Guarantee: atomic"""
    key = place + "counter"
    await storage.create(key, b"0")

    async def increment() -> None:
        current = await storage.get(key)
        while True:
            assert current is not None
            try:
                await storage.update(
                    key, str(int(current.value) + 1).encode(), expected=current.revision
                )
            except RevisionConflict as lost:
                current = lost.current
            else:
                return

    await asyncio.gather(*(increment() for _ in range(25)))

    final = await storage.get(key)
    assert final is not None
    assert final.value == b"25"


async def test_of_an_update_and_a_delete_at_once_one_wins(storage: Storage, place: str) -> None:
    """Guarantee: atomic"""
    created = await storage.create(place + "a", b"one")

    results = await asyncio.gather(
        storage.update(place + "a", b"two", expected=created),
        storage.delete(place + "a", expected=created),
        return_exceptions=True,
    )

    assert sum(isinstance(result, int) for result in results) == 1
    assert sum(isinstance(result, RevisionConflict) for result in results) == 1


async def test_a_read_after_an_acknowledged_write_sees_it(storage: Storage, place: str) -> None:
    """Guarantee: linearizable"""

    async def write_and_read(number: int) -> None:
        revision = await storage.create(f"{place}{number}", b"x")
        found = await storage.get(f"{place}{number}")
        assert found is not None
        assert found.revision == revision
        assert await storage.current_revision() >= revision

    await asyncio.gather(*(write_and_read(number) for number in range(20)))


async def test_a_cancelled_write_breaks_nothing(storage: Storage, place: str) -> None:
    writing = asyncio.ensure_future(storage.create(place + "a", b"one"))
    await asyncio.sleep(0)
    writing.cancel()
    await asyncio.gather(writing, return_exceptions=True)

    await storage.create(place + "b", b"two")

    found = await storage.get(place + "a")
    assert found is None or found.value == b"one"


async def test_a_store_describes_itself_in_a_sentence(storage: Storage) -> None:
    assert repr(storage).startswith("<")
    assert "revision" in repr(storage)


async def test_what_is_known_to_be_newest_is_what_a_read_returns(
    storage: Storage, place: str
) -> None:
    first = await storage.create(place + "a", b"1")
    second = await storage.update(place + "a", b"2", expected=first)

    assert not storage.is_newest(place + "a", first)
    assert not storage.is_newest(place + "never", 0)
    if storage.is_newest(place + "a", second):  # who shares a store never knows
        await storage.delete(place + "a", expected=second)
    assert not storage.is_newest(place + "a", second)


async def test_what_etcd_would_not_take_is_refused_by_every_store(
    storage: Storage, place: str
) -> None:
    objects = ResourceStore(storage, place)
    kept = await objects.create("a", b"x" * (VALUE_BYTES_MAX - 1_000))
    too_large = b"x" * (VALUE_BYTES_MAX + 1)

    async def grow(_: StoredValue | None) -> bytes:
        return too_large

    with pytest.raises(ValueTooLarge):
        await objects.create("b", too_large)
    with pytest.raises(ValueTooLarge):
        await objects.guaranteed_update("a", grow)
    with pytest.raises(ValueTooLarge):
        await objects.guaranteed_update("b", grow, ignore_not_found=True)

    assert await objects.get("a") == kept
    assert await objects.get("b") is None
