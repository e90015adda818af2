"""Lists: by prefix, in byte order, by pages, now or at an exact revision."""

from __future__ import annotations

import asyncio

import pytest

from proreus.server.storage.interface import FutureRevision, Page, Storage
from proreus.server.storage.keyspace import after


def names(page: Page, place: str) -> list[str]:
    return [item.key.removeprefix(place) for item in page.items]


async def fill(storage: Storage, place: str, *keys: str) -> None:
    for key in keys:
        await storage.create(place + key, key.encode())


async def test_a_list_is_in_byte_order_of_keys(storage: Storage, place: str) -> None:
    keys = ["b", "a-b/c", "a/c", "a/b", "a.b/c", "Z", "é", "z", "名", "a/b0", "𐍈", "￿"]
    await fill(storage, place, *keys)

    page = await storage.list(place)

    assert names(page, place) == sorted(keys, key=str.encode)
    assert page.revision == await storage.current_revision()
    assert (page.has_more, page.remaining) == (False, 0)
    assert {item.value.decode() for item in page.items} == set(keys)


async def test_a_prefix_never_matches_its_sisters(storage: Storage, place: str) -> None:
    await fill(storage, place, "pods/a", "pods/b", "podsx/a", "pod/a", "pods.x/a", "pods0")

    assert names(await storage.list(place + "pods/"), place) == ["pods/a", "pods/b"]
    assert await storage.count(place + "pods/") == 2
    assert await storage.count(place) == 6


async def test_an_empty_list_has_a_revision(storage: Storage, place: str) -> None:
    revision = await storage.create(place + "other/a", b"x")

    assert await storage.list(place + "none/") == Page((), revision, False, 0)


async def test_pages_follow_each_other(storage: Storage, place: str) -> None:
    keys = [f"{number:02}" for number in range(10)]
    await fill(storage, place, *keys)

    found: list[str] = []
    remaining: list[int] = []
    page = await storage.list(place, limit=4)
    while True:
        found += names(page, place)
        remaining.append(page.remaining)
        if not page.has_more:
            break
        page = await storage.list(
            place, start=after(page.items[-1].key), limit=4, revision=page.revision
        )

    assert found == keys
    assert remaining == [6, 2, 0]


async def test_a_page_that_ends_exactly_says_so(storage: Storage, place: str) -> None:
    await fill(storage, place, "a", "b")

    page = await storage.list(place, limit=2)

    assert names(page, place) == ["a", "b"]
    assert (page.has_more, page.remaining) == (False, 0)


async def test_a_start_is_inclusive_and_may_lie_anywhere(storage: Storage, place: str) -> None:
    await fill(storage, place, "b", "c", "d")

    assert names(await storage.list(place, start=place + "c"), place) == ["c", "d"]
    assert names(await storage.list(place, start=place + "bb"), place) == ["c", "d"]
    assert names(await storage.list(place, start="/"), place) == ["b", "c", "d"]
    assert names(await storage.list(place, start=place + "e"), place) == []
    assert names(await storage.list(place, start="/z"), place) == []


async def test_pages_at_an_exact_revision_do_not_see_later_writes(
    storage: Storage, place: str
) -> None:
    await fill(storage, place, "a", "b", "c", "d")
    first = await storage.list(place, limit=2)
    b, c = first.items[1].revision, (await storage.list(place)).items[2].revision
    await storage.update(place + "b", b"changed", expected=b)
    await storage.delete(place + "c", expected=c)
    await storage.create(place + "bb", b"new")
    await storage.create(place + "e", b"new")

    second = await storage.list(
        place, start=after(first.items[-1].key), limit=2, revision=first.revision
    )
    whole = await storage.list(place, revision=first.revision)

    assert names(second, place) == ["c", "d"]
    assert (second.revision, second.has_more, second.remaining) == (first.revision, False, 0)
    assert [item.value for item in whole.items] == [b"a", b"b", b"c", b"d"]


async def test_the_state_at_every_revision_can_be_listed(storage: Storage, place: str) -> None:
    start = await storage.current_revision()
    one = await storage.create(place + "a", b"1")
    two = await storage.update(place + "a", b"2", expected=one)
    three = await storage.delete(place + "a", expected=two)
    four = await storage.create(place + "a", b"4")

    states = {
        revision: [item.value for item in (await storage.list(place, revision=revision)).items]
        for revision in (start, one, two, three, four)
    }

    assert states == {start: [], one: [b"1"], two: [b"2"], three: [], four: [b"4"]}


async def test_a_list_at_a_future_revision_is_refused(storage: Storage, place: str) -> None:
    current = await storage.create(place + "a", b"x")

    with pytest.raises(FutureRevision) as raised:
        await storage.list(place, revision=current + 1000)

    assert (raised.value.wanted, raised.value.current) == (current + 1000, current)


async def test_a_count_follows_writes(storage: Storage, place: str) -> None:
    await fill(storage, place, "a", "b", "c")
    created = await storage.create(place + "d", b"x")
    assert await storage.count(place) == 4

    await storage.delete(place + "d", expected=created)

    assert await storage.count(place) == 3
    assert await storage.count(place + "none/") == 0


async def test_a_list_while_writing_is_one_state(storage: Storage, place: str) -> None:
    """Each list equals the list at its own revision, read again later."""
    pages: list[Page] = []

    async def write() -> None:
        for number in range(30):
            await storage.create(f"{place}{number:03}", b"x")

    async def read() -> None:
        for _ in range(10):
            pages.append(await storage.list(place))

    await asyncio.gather(write(), write_others(storage, place), read())

    for page in pages:
        assert await storage.list(place, revision=page.revision) == page


async def write_others(storage: Storage, place: str) -> None:
    revision = await storage.create(place + "changing", b"0")
    for number in range(30):
        revision = await storage.update(place + "changing", str(number).encode(), expected=revision)


async def test_a_list_of_many_large_values_is_complete(storage: Storage, place: str) -> None:
    """More than one message or page of any implementation holds (8 MB, 1,300 keys)."""
    value = bytes(6_000)
    for first in range(0, 1_300, 100):
        await asyncio.gather(
            *(storage.create(f"{place}{number:05}", value) for number in range(first, first + 100))
        )

    page = await storage.list(place)

    assert names(page, place) == [f"{number:05}" for number in range(1_300)]
    assert all(item.value == value for item in page.items)
    part = await storage.list(place, limit=1_200, revision=page.revision)
    assert (len(part.items), part.has_more, part.remaining) == (1_200, True, 100)
