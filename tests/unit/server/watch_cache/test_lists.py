"""get and list: how fresh, how old, which page (server.md §2.5, cases of §10)."""

from __future__ import annotations

import asyncio

import pytest

from proreus.api.status import Expired, ResourceVersionTooLarge
from proreus.server.watch_cache.query import AnyState, Exact, Latest, ListQuery, NotOlderThan
from tests.watching import PREFIX, Cluster, cluster_on, put, selection


async def test_a_list_sees_every_acknowledged_write(cluster: Cluster) -> None:
    """Guarantee: linearizable."""
    for n in range(20):
        revision = await cluster.write("a/x", n=n)

        listing = await cluster.cache.list(ListQuery(state=Latest()))

        assert listing.revision >= revision
        assert [obj.revision for obj in listing.objects] == [revision]


async def test_an_idle_resource_is_as_fresh_as_the_busiest(cluster: Cluster) -> None:
    revision = await put(cluster.storage, "/registry/other/", "a/x")

    listing = await cluster.cache.list(ListQuery())

    assert listing.objects == []
    assert listing.revision >= revision


async def test_a_list_is_in_byte_order_of_namespace_and_name(cluster: Cluster) -> None:
    for key in ("a/x", "a-b/x", "b/x", "a/w"):
        await cluster.write(key)

    assert await cluster.keys() == ["a-b/x", "a/w", "a/x", "b/x"]
    assert await cluster.keys(ListQuery(selection(namespace="a"))) == ["a/w", "a/x"]


async def test_selectors_filter_by_label_field_and_name(cluster: Cluster) -> None:
    await cluster.write("ns0/foo", labels={"app": "web", "n": "1"}, node="n1")
    await cluster.write("ns1/foo", labels={"app": "web"}, node="n2")
    await cluster.write("ns1/bar", labels={"app": "db"}, node="n2")

    async def keys(**wanted: str) -> list[str]:
        return await cluster.keys(ListQuery(selection(**wanted)))

    assert await keys(labels="app=web") == ["ns0/foo", "ns1/foo"]
    assert await keys(labels="app=web,!n") == ["ns1/foo"]
    assert await keys(labels="app in (db,x)") == ["ns1/bar"]
    assert await keys(fields="spec.nodeName=n2") == ["ns1/bar", "ns1/foo"]
    assert await keys(fields="spec.nodeName=n2", namespace="ns0") == []
    assert await keys(fields="spec.nodeName!=n2") == ["ns0/foo"]
    assert await keys(fields="metadata.name=foo") == ["ns0/foo", "ns1/foo"]
    assert await keys(fields="metadata.name=foo,metadata.name=bar") == []
    assert await keys(fields="metadata.name=foo,metadata.namespace=ns1") == ["ns1/foo"]
    assert await keys(fields="metadata.namespace=ns2", namespace="ns1") == []
    assert await keys(fields="metadata.namespace=", namespace="ns1") == []
    assert await keys(fields="metadata.namespace=ns1") == ["ns1/bar", "ns1/foo"]
    assert await keys(name="foo", namespace="ns1") == ["ns1/foo"]
    assert await keys(name="foo") == ["ns0/foo", "ns1/foo"]
    assert await keys(name="nobody", namespace="ns1") == []


async def test_pages_of_one_list_show_one_state_although_it_changes(cluster: Cluster) -> None:
    for n in range(10):
        await cluster.write(f"a/{n}")
    first = await cluster.cache.list(ListQuery(limit=4))
    assert (first.next_start, first.remaining) == ("a/3\0", 6)

    await cluster.delete("a/5")
    await cluster.write("a/45")
    await cluster.write("a/7", n=1)
    second = await cluster.cache.list(
        ListQuery(state=Exact(first.revision), limit=4, start=first.next_start)
    )
    third = await cluster.cache.list(
        ListQuery(state=Exact(first.revision), limit=4, start=second.next_start)
    )

    assert [obj.key for obj in second.objects] == ["a/4", "a/5", "a/6", "a/7"]
    assert [obj.key for obj in third.objects] == ["a/8", "a/9"]
    assert (second.revision, second.remaining) == (first.revision, 2)
    assert (third.revision, third.next_start, third.remaining) == (first.revision, "", None)
    assert b'"n":0' in second.objects[3].item


async def test_a_page_with_selectors_is_filled_and_says_nothing_of_the_rest(
    cluster: Cluster,
) -> None:
    for n in range(9):
        await cluster.write(f"a/{n}", labels={"odd": str(n % 2)})

    page = await cluster.cache.list(ListQuery(selection("odd=1"), limit=3))

    assert [obj.key for obj in page.objects] == ["a/1", "a/3", "a/5"]
    assert (page.next_start, page.remaining) == ("a/5\0", None)
    last = await cluster.cache.list(ListQuery(selection("odd=1"), limit=3, start="a/7\0"))
    assert (list(last.objects), last.next_start) == ([], "")


async def test_a_page_of_a_namespace_ends_with_it(cluster: Cluster) -> None:
    for key in ("a/1", "a/2", "b/1"):
        await cluster.write(key)

    page = await cluster.cache.list(ListQuery(selection(namespace="a"), limit=2))

    assert (page.next_start, page.remaining) == ("", None)


async def test_any_state_ignores_the_limit(cluster: Cluster) -> None:
    for n in range(5):
        await cluster.write(f"a/{n}")
    await cluster.settle()

    listing = await cluster.cache.list(ListQuery(state=AnyState(), limit=2))

    assert len(listing.objects) == 5
    assert listing.next_start == ""


async def test_not_older_than_honours_the_limit(cluster: Cluster) -> None:
    for n in range(5):
        revision = await cluster.write(f"a/{n}")

    listing = await cluster.cache.list(ListQuery(state=NotOlderThan(revision), limit=2))

    assert [obj.key for obj in listing.objects] == ["a/0", "a/1"]
    assert listing.remaining == 3


@pytest.mark.parametrize("state", [NotOlderThan(99), Exact(99)])
async def test_a_revision_to_come_is_waited_for_three_seconds(
    cluster: Cluster, state: NotOlderThan | Exact
) -> None:
    async with asyncio.TaskGroup() as group:
        asking = group.create_task(_failure(cluster, ListQuery(state=state)))
        await cluster.clock.advance(2.9)
        assert not asking.done()
        await cluster.clock.advance(0.2)

    error = asking.result()
    assert isinstance(error, ResourceVersionTooLarge)
    assert error.message == "Timeout: Too large resource version: 99, current: 1"
    assert error.retry_after_s == 1


async def test_a_wait_that_succeeded_leaves_the_next_one_its_deadline(cluster: Cluster) -> None:
    waiting = asyncio.ensure_future(cluster.cache.list(ListQuery(state=NotOlderThan(2))))
    await cluster.settle()
    await cluster.write("a/x")
    await waiting

    asking = asyncio.ensure_future(cluster.cache.list(ListQuery(state=NotOlderThan(99))))
    await cluster.clock.advance(3.1)

    assert asking.done()
    with pytest.raises(ResourceVersionTooLarge):
        await asking


async def test_a_reader_that_waits_goes_on_when_its_revision_comes(cluster: Cluster) -> None:
    async with asyncio.TaskGroup() as group:
        asking = group.create_task(cluster.cache.list(ListQuery(state=NotOlderThan(3))))
        await cluster.write("a/x")
        await cluster.settle()
        assert not asking.done()
        await cluster.write("a/y")

    assert [obj.key for obj in asking.result().objects] == ["a/x", "a/y"]


async def test_the_exact_past_is_read_from_history(cluster: Cluster) -> None:
    then = await cluster.write("a/x", labels={"v": "1"})
    await cluster.write("a/x", labels={"v": "2"})
    await cluster.delete("a/x")

    listing = await cluster.cache.list(ListQuery(state=Exact(then)))

    assert [(obj.revision, obj.labels) for obj in listing.objects] == [(then, {"v": "1"})]
    assert listing.revision == then
    assert await cluster.keys(ListQuery(selection("v=2"), Exact(then))) == []


async def test_a_revision_of_an_idle_resource_can_be_listed_exactly(cluster: Cluster) -> None:
    await cluster.write("a/x")
    for _ in range(3):
        await put(cluster.storage, "/registry/other/", "a/x")
    idle = await cluster.cache.list(ListQuery())

    listing = await cluster.cache.list(ListQuery(state=Exact(idle.revision)))

    assert [obj.key for obj in listing.objects] == ["a/x"]
    assert listing.revision == idle.revision


async def test_a_past_older_than_history_is_read_from_storage(cluster: Cluster) -> None:
    for n in range(6):
        then = await cluster.write(f"a/{n}", labels={"odd": str(n % 2)})
    await _age(cluster)

    assert cluster.cache.complete_after > then
    page = await cluster.cache.list(ListQuery(state=Exact(then), limit=4))
    odd = await cluster.cache.list(ListQuery(selection("odd=1"), Exact(then), limit=2))
    rest = await cluster.cache.list(
        ListQuery(selection("odd=1", namespace="a"), Exact(then), limit=2, start=odd.next_start)
    )

    assert [obj.key for obj in page.objects] == ["a/0", "a/1", "a/2", "a/3"]
    assert (page.revision, page.next_start, page.remaining) == (then, "a/3\0", 2)
    assert [obj.key for obj in odd.objects] == ["a/1", "a/3"]
    assert (odd.next_start, odd.remaining) == ("a/3\0", None)
    assert [obj.key for obj in rest.objects] == ["a/5"]
    assert rest.next_start == ""


async def test_a_compacted_past_is_expired(cluster: Cluster) -> None:
    then = await cluster.write("a/x")
    now = await cluster.write("a/x", n=1)
    await cluster.settle()
    await cluster.storage.compact(now)

    error = await _failure(cluster, ListQuery(state=Exact(then)))

    assert isinstance(error, Expired)
    assert error.message == "The resourceVersion for the provided list is too old."
    assert await cluster.keys(ListQuery(state=Exact(now))) == ["a/x"]


async def test_a_single_object_is_read_at_least_as_fresh_as_asked(cluster: Cluster) -> None:
    revision = await cluster.write("a/x")

    found = await cluster.cache.get("a/x", at_least=revision)

    assert found is not None and found.revision == revision
    assert found.item.startswith(b'"metadata":{"resourceVersion":"%d","name":"x"' % revision)
    assert repr(found) == f"<CachedObject a/x at {revision}, {len(found.item)} B>"
    assert cluster.cache.peek("a/x") is found
    assert await cluster.cache.get("a/nobody") is None


async def _failure(cluster: Cluster, asked: ListQuery) -> Exception:
    with pytest.raises(Exception) as caught:  # the caller looks at it
        await cluster.cache.list(asked)
    return caught.value


async def _age(cluster: Cluster) -> None:
    """Make history forget: as many changes as it holds, spread over more than its window."""
    for n in range(110):
        revision = await put(cluster.storage, PREFIX, "z/clock", n=n)
        await cluster.reached(revision)
        await cluster.clock.advance(1)


async def test_a_list_says_what_all_its_objects_were_written_after(cluster: Cluster) -> None:
    """So that what changed before that concerns none of them, without a look at each."""
    empty = await cluster.cache.list(ListQuery())
    first = await cluster.write("a/x")
    await cluster.write("a/y")
    await cluster.write("a/x", n=2)
    async with cluster_on(cluster.storage, cluster.clock) as started_later:
        loaded = await started_later.cache.list(ListQuery())

    grown = await cluster.cache.list(ListQuery())
    past = await cluster.cache.list(ListQuery(state=Exact(first)))

    assert empty.written_after <= grown.written_after < first
    assert loaded.written_after == min(obj.revision for obj in loaded.objects) - 1
    assert past.written_after == 0  # objects of the past may be of any age


async def test_others_get_their_turn_while_a_selector_is_tested_on_many_objects(
    cluster: Cluster,
) -> None:
    """And the list is of the state it began with, whatever is written meanwhile."""
    for n in range(9_000):
        await cluster.write(f"a/{n:04}", labels={"odd": str(n % 2)})
    revision = await cluster.write("b/last", labels={"odd": "2"})
    await cluster.reached(revision)
    turns = 0

    def count() -> None:
        nonlocal turns
        turns += 1
        if not listing.done():
            asyncio.get_running_loop().call_soon(count)

    listing = asyncio.ensure_future(
        cluster.cache.list(ListQuery(selection(labels="odd!=0"), NotOlderThan(revision)))
    )
    asyncio.get_running_loop().call_soon(count)
    for _ in range(4):
        await asyncio.sleep(0)  # it asks for its first turn, and has it
    turns_before = turns
    later = await cluster.write("a/0001", labels={"odd": "0"})
    found = await listing

    assert turns > turns_before + 2
    assert found.revision == revision < later
    assert [obj.key for obj in found.objects] == [
        *(f"a/{n:04}" for n in range(1, 9_000, 2)),
        "b/last",
    ]


@pytest.mark.parametrize("limit", [1, 2, 3, 4_500, 4_501])
async def test_pages_of_a_selector_end_where_the_last_match_is(
    cluster: Cluster, limit: int
) -> None:
    for n in range(9_000):
        await cluster.write(f"a/{n:04}", labels={"odd": str(n % 2)})

    listing = await cluster.cache.list(ListQuery(selection(labels="odd=1"), limit=limit))

    assert [obj.key for obj in listing.objects] == [f"a/{n:04}" for n in range(1, 9_000, 2)[:limit]]
    assert listing.remaining is None
    assert bool(listing.next_start) is (limit < 4_500)
