"""Read, change, compare-and-swap with preconditions, stale suggestions and silent no-ops."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from proreus.api.status import BadRequest
from proreus.server.storage.interface import (
    InvalidKey,
    KeyExists,
    KeyNotFound,
    PreconditionFailed,
    StoredValue,
)
from proreus.server.storage.memory import MemoryStorage
from proreus.server.storage.resource_store import Preconditions, Removal, ResourceStore
from proreus.server.storage.resource_stores import ResourceStores
from proreus.testing.virtual_clock import VirtualClock

POD = b'{"metadata":{"name":"a","uid":"u1"},"spec":{}}'


@pytest.fixture
async def storage() -> AsyncIterator[MemoryStorage]:
    async with MemoryStorage.open(VirtualClock()) as opened:
        yield opened


@pytest.fixture
def pods(storage: MemoryStorage) -> ResourceStore:
    return ResourceStores(storage).store("pods")


class Recorded:
    """An update that appends a letter and remembers what it was given."""

    def __init__(self, suffix: bytes = b"+", refuse: bytes | None = None) -> None:
        self.suffix = suffix
        self.refuse = refuse
        self.seen: list[int] = []

    async def __call__(self, current: StoredValue | None) -> bytes:
        self.seen.append(current.revision if current else 0)
        value = current.value if current else b""
        if value == self.refuse:
            raise BadRequest("refused")
        return value + self.suffix


async def test_keys_are_relative_to_the_prefix(pods: ResourceStore, storage: MemoryStorage) -> None:
    created = await pods.create("ns/a", POD)

    assert created == await pods.get("ns/a") == (await pods.list()).items[0]
    assert created.key == "ns/a"
    assert await storage.get("/registry/pods/ns/a") is not None
    with pytest.raises(KeyExists) as raised:
        await pods.create("ns/a", b"x")
    assert raised.value.current == created


async def test_a_list_can_be_of_one_namespace_and_start_anywhere(pods: ResourceStore) -> None:
    for key in ("ns/a", "ns/b", "ns2/a"):
        await pods.create(key, POD)

    assert [item.key for item in (await pods.list(namespace="ns")).items] == ["ns/a", "ns/b"]
    page = await pods.list(start="ns/b", limit=1)
    assert ([item.key for item in page.items], page.remaining) == (["ns/b"], 1)
    assert await pods.count() == 3


async def test_a_name_cannot_climb_out_of_its_resource(pods: ResourceStore) -> None:
    with pytest.raises(InvalidKey):
        await pods.create("../secrets/ns/a", POD)
    with pytest.raises(InvalidKey):
        await pods.list(namespace="..")


async def test_an_update_changes_what_is_stored(pods: ResourceStore) -> None:
    created = await pods.create("a", b"1")

    result = await pods.guaranteed_update("a", Recorded())

    assert result.old == created
    assert result.new == await pods.get("a") == StoredValue("a", b"1+", result.new.revision)


async def test_a_dry_run_checks_everything_and_writes_nothing(pods: ResourceStore) -> None:
    kept = await pods.create("a", b"1")

    updated = await pods.guaranteed_update("a", Recorded(), dry_run=True)
    created = await pods.create("b", b"2", dry_run=True)
    deleted = await pods.delete("a", dry_run=True)

    assert (updated.new.value, updated.new.revision) == (b"1+", kept.revision)
    assert (created.revision, deleted) == (0, kept)
    assert (await pods.list()).items == (kept,)
    with pytest.raises(KeyExists):
        await pods.create("a", b"2", dry_run=True)
    with pytest.raises(KeyNotFound):
        await pods.delete("b", dry_run=True)


async def test_an_update_of_a_missing_object_is_not_found_unless_ignored(
    pods: ResourceStore,
) -> None:
    with pytest.raises(KeyNotFound, match="/registry/pods/a"):
        await pods.guaranteed_update("a", Recorded())

    result = await pods.guaranteed_update("a", Recorded(), ignore_not_found=True)

    assert (result.old, result.new.value) == (None, b"+")


async def test_a_no_op_is_silent(pods: ResourceStore, storage: MemoryStorage) -> None:
    """Guarantee: no-op is silent"""
    created = await pods.create("a", b"1")

    result = await pods.guaranteed_update("a", Recorded(suffix=b""))

    assert result.new == result.old == created
    assert await storage.current_revision() == created.revision


async def test_a_no_op_on_a_stale_copy_is_tried_on_the_stored_value(pods: ResourceStore) -> None:
    """Guarantee: no-op is silent"""
    cached = await pods.create("a", b"1")
    newer = (await pods.guaranteed_update("a", Recorded())).new
    update = Recorded(suffix=b"")

    result = await pods.guaranteed_update("a", update, cached=cached)

    assert result.new == result.old == newer
    assert update.seen == [cached.revision, newer.revision]


async def test_a_no_op_on_a_copy_whose_object_is_gone_is_not_found(pods: ResourceStore) -> None:
    cached = await pods.create("a", b"1")
    await pods.delete("a")

    with pytest.raises(KeyNotFound):
        await pods.guaranteed_update("a", Recorded(suffix=b""), cached=cached)


async def test_a_fresh_copy_saves_the_read_and_a_stale_one_only_costs_a_round(
    pods: ResourceStore,
) -> None:
    cached = await pods.create("a", b"1")
    fresh = Recorded()
    newer = (await pods.guaranteed_update("a", fresh, cached=cached)).new
    stale = Recorded()

    result = await pods.guaranteed_update("a", stale, cached=cached)

    assert fresh.seen == [cached.revision]
    assert stale.seen == [cached.revision, newer.revision]
    assert result.new.value == b"1++"


async def test_a_dry_run_begins_with_what_is_stored(pods: ResourceStore) -> None:
    cached = await pods.create("a", b"1")
    newer = (await pods.guaranteed_update("a", Recorded())).new
    update = Recorded()

    result = await pods.guaranteed_update("a", update, cached=cached, dry_run=True)

    assert update.seen == [newer.revision]
    assert result.new.value == b"1++"


async def test_what_a_stale_copy_refuses_is_asked_again_of_the_stored_value(
    pods: ResourceStore,
) -> None:
    cached = await pods.create("a", b"1")
    newer = (await pods.guaranteed_update("a", Recorded())).new
    update = Recorded(refuse=b"1")

    result = await pods.guaranteed_update("a", update, cached=cached)

    assert update.seen == [cached.revision, newer.revision]
    assert result.new.value == b"1++"


async def test_what_a_fresh_copy_refuses_stays_refused(pods: ResourceStore) -> None:
    cached = await pods.create("a", b"1")
    update = Recorded(refuse=b"1")

    with pytest.raises(BadRequest):
        await pods.guaranteed_update("a", update, cached=cached)

    assert update.seen == [cached.revision]


async def test_losing_a_race_starts_over_from_the_winner(pods: ResourceStore) -> None:
    await pods.create("a", b"1")
    raced = False

    async def update(current: StoredValue | None) -> bytes:
        nonlocal raced
        assert current is not None
        if not raced:
            raced = True
            await pods.guaranteed_update("a", Recorded(suffix=b"!"))
        return current.value + b"+"

    assert (await pods.guaranteed_update("a", update)).new.value == b"1!+"


async def test_a_creating_update_that_loses_starts_over(pods: ResourceStore) -> None:
    async def update(current: StoredValue | None) -> bytes:
        if current is None:
            await pods.create("a", b"first")
        return (current.value if current else b"") + b"+"

    result = await pods.guaranteed_update("a", update, ignore_not_found=True)

    assert result.new.value == b"first+"


async def test_an_object_deleted_during_an_update_is_not_found(pods: ResourceStore) -> None:
    await pods.create("a", b"1")

    async def update(current: StoredValue | None) -> bytes:
        await pods.delete("a")
        return b"2"

    with pytest.raises(KeyNotFound):
        await pods.guaranteed_update("a", update)


async def test_preconditions_are_checked_in_kubernetes_words(pods: ResourceStore) -> None:
    created = await pods.create("a", POD)

    with pytest.raises(PreconditionFailed) as wrong_uid:
        await pods.guaranteed_update("a", Recorded(), preconditions=Preconditions(uid="u2"))
    with pytest.raises(PreconditionFailed) as wrong_version:
        await pods.delete("a", preconditions=Preconditions("u1", "7000"))

    said = "Precondition failed: UID in precondition: u2, UID in object meta: u1"
    assert str(wrong_uid.value) == said
    assert wrong_uid.value.detail == (
        "StorageError: invalid object, Code: 4, Key: /registry/pods/a, ResourceVersion: 0, "
        f"AdditionalErrorMsg: {said}"
    )
    assert str(wrong_version.value) == (
        "Precondition failed: ResourceVersion in precondition: 7000, "
        f"ResourceVersion in object meta: {created.revision}"
    )


async def test_preconditions_that_hold_let_pass(pods: ResourceStore) -> None:
    created = await pods.create("a", POD)
    exact = Preconditions(uid="u1", resource_version=str(created.revision))

    result = await pods.guaranteed_update("a", Recorded(), preconditions=exact)

    assert result.new.value == POD + b"+"


@pytest.mark.parametrize("missing_ok", [False, True])
async def test_a_removal_that_another_writer_did_first_is_an_error_unless_that_is_as_well(
    pods: ResourceStore, missing_ok: bool
) -> None:
    await pods.create("a", b"1")

    async def update(current: StoredValue | None) -> Removal:
        await pods.delete("a")
        return Removal(b"last", missing_ok)

    if missing_ok:
        done = await pods.guaranteed_update("a", update)
        assert (done.new.value, done.is_removed) == (b"last", True)
    else:
        with pytest.raises(KeyNotFound):
            await pods.guaranteed_update("a", update)


async def test_preconditions_failing_on_a_stale_copy_are_checked_on_the_stored_value(
    pods: ResourceStore,
) -> None:
    cached = await pods.create("a", POD)
    await pods.delete("a")
    await pods.create("a", POD.replace(b"u1", b"u2"))

    deleted = await pods.delete("a", preconditions=Preconditions(uid="u2"), cached=cached)

    assert b"u2" in deleted.value


async def test_a_missing_object_has_no_uid(pods: ResourceStore) -> None:
    with pytest.raises(PreconditionFailed, match=r"UID in object meta: $"):
        await pods.guaranteed_update(
            "a", Recorded(), preconditions=Preconditions(uid="u1"), ignore_not_found=True
        )


async def test_a_delete_returns_the_last_value_at_the_deletions_revision(
    pods: ResourceStore, storage: MemoryStorage
) -> None:
    await pods.create("a", POD)

    deleted = await pods.delete("a")

    assert deleted == StoredValue("a", POD, await storage.current_revision())
    with pytest.raises(KeyNotFound):
        await pods.delete("a")


async def test_a_delete_that_is_refused_deletes_nothing(pods: ResourceStore) -> None:
    cached = await pods.create("a", b"1")
    await pods.guaranteed_update("a", Recorded())
    seen: list[bytes] = []

    async def validate(current: StoredValue) -> None:
        seen.append(current.value)
        raise BadRequest("kept")

    with pytest.raises(BadRequest):
        await pods.delete("a", validate=validate, cached=cached)

    assert seen == [b"1", b"1+"]
    assert await pods.get("a") is not None


async def test_a_delete_by_a_stale_copy_removes_the_newest(pods: ResourceStore) -> None:
    cached = await pods.create("a", b"1")
    await pods.guaranteed_update("a", Recorded())

    assert (await pods.delete("a", cached=cached)).value == b"1+"


async def test_a_factory_makes_one_store_per_resource(storage: MemoryStorage) -> None:
    factory = ResourceStores(storage)

    assert factory.store("pods") is factory.store("pods")
    assert factory.store("secrets").prefix == "/registry/secrets/"
    assert repr(factory) == (
        "<ResourceStores of 2 resources over "
        "<MemoryStorage with 0 keys at revision 1, readable since 0>>"
    )
