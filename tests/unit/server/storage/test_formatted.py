"""One store, two formats: each value is read by its first bytes, and written in the chosen one."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from proreus.api.wire import stored_cbor
from proreus.server.storage.formatted import FormattedStorage, StorageFormat
from proreus.server.storage.interface import (
    DAMAGED,
    Change,
    KeyExists,
    PastValue,
    RevisionConflict,
    StoredValue,
)
from proreus.server.storage.memory import MemoryStorage
from proreus.server.storage.resource_store import ResourceStore
from proreus.testing.virtual_clock import VirtualClock

PREFIX = "/registry/secrets/"
A, B = PREFIX + "default/a", PREFIX + "default/b"
ONE, TWO = b'{"metadata":{"name":"a"},"data":{"k":1}}', b'{"metadata":{"name":"a"},"data":{"k":2}}'
PACKED = stored_cbor.pack(ONE)


@pytest.fixture
async def inner() -> AsyncIterator[MemoryStorage]:
    async with MemoryStorage.open(VirtualClock()) as storage:
        yield storage


@pytest.fixture
def in_json(inner: MemoryStorage) -> FormattedStorage:
    return FormattedStorage(inner, StorageFormat.JSON)


@pytest.fixture
def in_cbor(inner: MemoryStorage) -> FormattedStorage:
    return FormattedStorage(inner, StorageFormat.CBOR)


async def raw(inner: MemoryStorage, key: str = A) -> bytes:
    found = await inner.get(key)
    assert found is not None
    return found.value


async def test_objects_are_kept_in_cbor_and_seen_in_json(
    inner: MemoryStorage, in_cbor: FormattedStorage
) -> None:
    revision = await in_cbor.create(A, ONE)

    assert await raw(inner) == PACKED
    assert await in_cbor.get(A) == StoredValue(A, ONE, revision)


async def test_either_format_is_read_whichever_is_written(
    in_json: FormattedStorage, in_cbor: FormattedStorage
) -> None:
    one = await in_cbor.create(A, ONE)
    two = await in_json.create(B, TWO)

    for storage in (in_json, in_cbor):
        items = (await storage.list(PREFIX)).items
        assert [(item.key, item.value, item.revision) for item in items] == [
            (A, ONE, one), (B, TWO, two),
        ]  # fmt: skip
        assert await storage.versions(A, limit=5) == (PastValue(one, ONE),)


@pytest.mark.parametrize("wanted", StorageFormat)
async def test_a_write_that_changes_nothing_rewrites_only_the_other_format(
    inner: MemoryStorage, wanted: StorageFormat
) -> None:
    other = next(one for one in StorageFormat if one is not wanted)
    first = await FormattedStorage(inner, other).create(A, ONE)
    store = ResourceStore(FormattedStorage(inner, wanted), PREFIX)

    async def same(_: object) -> bytes:
        return ONE

    rewritten = (await store.guaranteed_update("default/a", same)).new.revision
    again = (await store.guaranteed_update("default/a", same)).new.revision

    assert rewritten > first
    assert again == rewritten
    assert await raw(inner) == (PACKED if wanted is StorageFormat.CBOR else ONE)


async def test_a_watch_gives_json_of_what_was_and_what_is(
    in_json: FormattedStorage, in_cbor: FormattedStorage
) -> None:
    one = await in_cbor.create(A, ONE)
    two = await in_json.update(A, TWO, expected=one)
    three = await in_cbor.update(A, ONE, expected=two, replaced=TWO)
    four = await in_cbor.delete(A, expected=three, replaced=ONE)

    async with in_json.watch(PREFIX, after=0) as batches:
        changes: list[Change] = []
        async for batch in batches:
            changes += batch.changes
            if batch.revision >= four:
                break

    values = [(c.old and c.old.value, c.new and c.new.value) for c in changes]
    assert values == [(None, ONE), (ONE, TWO), (TWO, ONE), (ONE, None)]


async def test_who_loses_a_race_gets_the_winner_in_json(in_cbor: FormattedStorage) -> None:
    one = await in_cbor.create(A, ONE)

    with pytest.raises(KeyExists) as exists:
        await in_cbor.create(A, TWO)
    with pytest.raises(RevisionConflict) as updated:
        await in_cbor.update(A, TWO, expected=one + 5)
    with pytest.raises(RevisionConflict) as deleted:
        await in_cbor.delete(A, expected=one + 5)

    winner = StoredValue(A, ONE, one)
    assert exists.value.current == updated.value.current == deleted.value.current == winner


@pytest.mark.parametrize(
    "lost", [PACKED[:-3], stored_cbor.SELF_DESCRIBED + b"\x01"], ids=["cut off", "no object"]
)
async def test_cbor_that_cannot_be_read_is_damaged_and_the_others_are_served(
    inner: MemoryStorage, in_json: FormattedStorage, in_cbor: FormattedStorage, lost: bytes
) -> None:
    await inner.create(A, lost)
    await in_cbor.create(B, ONE)

    for storage in (in_json, in_cbor):
        assert [item.value for item in (await storage.list(PREFIX)).items] == [DAMAGED, ONE]
