"""What a key has been, as far as the store still knows."""

from __future__ import annotations

from proreus.server.storage.interface import PastValue, Storage


async def test_a_key_has_all_its_versions_oldest_first(storage: Storage, place: str) -> None:
    key = place + "one"
    made = await storage.create(key, b"1")
    await storage.create(place + "one-other", b"not this one")
    changed = await storage.update(key, b"2", expected=made)
    gone = await storage.delete(key, expected=changed)
    again = await storage.create(key, b"3")

    assert await storage.versions(key, limit=10) == (
        PastValue(made, b"1"),
        PastValue(changed, b"2"),
        PastValue(gone, None),
        PastValue(again, b"3"),
    )


async def test_of_many_versions_the_newest_are_given(storage: Storage, place: str) -> None:
    revision = await storage.create(place + "one", b"0")
    for number in range(1, 5):
        revision = await storage.update(place + "one", b"%d" % number, expected=revision)

    found = await storage.versions(place + "one", limit=2)

    assert [version.value for version in found] == [b"3", b"4"]


async def test_a_key_that_never_was_has_no_versions(storage: Storage, place: str) -> None:
    assert await storage.versions(place + "none", limit=10) == ()


async def test_compaction_leaves_what_was_there_and_what_came_after(
    storage: Storage, place: str
) -> None:
    made = await storage.create(place + "one", b"1")
    changed = await storage.update(place + "one", b"2", expected=made)
    other = await storage.create(place + "other", b"x")
    last = await storage.update(place + "one", b"3", expected=changed)

    await storage.compact(other)

    assert await storage.versions(place + "one", limit=10) == (
        PastValue(changed, b"2"),
        PastValue(last, b"3"),
    )


async def test_when_a_write_was_committed_is_remembered_or_not_known(
    storage: Storage, place: str
) -> None:
    first = await storage.create(place + "one", b"1")
    second = await storage.update(place + "one", b"2", expected=first)

    at = [storage.committed_at(revision) for revision in (first, second)]

    assert storage.committed_at(second + 1_000_000) is None
    assert at == [None, None] or (at[0] is not None and at[1] is not None and at[0] <= at[1])
