"""When a watch gets bookmarks (server.md §4.12)."""

from __future__ import annotations

from proreus.server.storage.interface import Change, StoredValue
from proreus.server.watch_cache.query import AnyState, WatchQuery
from proreus.server.watch_cache.watches import next_bookmark_s
from tests.watching import PREFIX, Cluster, RecordingSink, from_start, put, selection, stored_object


async def test_a_quiet_watch_gets_none_until_the_revision_has_moved(cluster: Cluster) -> None:
    watch = await cluster.watch(WatchQuery(state=AnyState(), bookmarks=True))
    await cluster.clock.advance(130)
    assert watch.lines == []

    revision = await put(cluster.storage, "/registry/other/", "a/x")
    await cluster.clock.advance(125)

    assert watch.lines == [f"BOOKMARK {revision}"] * 2


async def test_it_comes_about_every_minute_to_those_who_allow_it(cluster: Cluster) -> None:
    marked = await cluster.watch(from_start(bookmarks=True, select=selection("none=here")))
    unmarked = await cluster.watch(from_start(bookmarks=False))
    await cluster.settle()
    revision = await put(cluster.storage, "/registry/other/", "a/x")

    await cluster.clock.advance(190)

    assert marked.lines == ["BOOKMARK 1 end", *[f"BOOKMARK {revision}"] * 3]
    assert unmarked.lines == []


async def test_the_last_one_comes_two_seconds_before_the_deadline(cluster: Cluster) -> None:
    watch = await cluster.watch(WatchQuery(state=AnyState(), bookmarks=True, timeout_s=30))
    revision = await cluster.write("a/x")

    await cluster.clock.advance(27.5)
    assert watch.lines == [f"ADDED a/x {revision}"]
    await cluster.clock.advance(2)
    assert watch.lines == [f"ADDED a/x {revision}", f"BOOKMARK {revision}"]
    await cluster.clock.advance(10)

    assert watch.is_closed()
    assert len(watch.lines) == 2


async def test_a_server_that_ends_says_how_far_its_watches_were(cluster: Cluster) -> None:
    """Guarantee: resumable"""
    marked = await cluster.watch(WatchQuery(state=AnyState(), bookmarks=True))
    unmarked = await cluster.watch(WatchQuery(state=AnyState()))
    revision = await put(cluster.storage, "/registry/other/", "a/x")
    await cluster.reached(revision)

    cluster.caches.close_watchers()

    assert marked.lines == [f"BOOKMARK {revision}"]
    assert unmarked.lines == []
    assert marked.is_closed() and unmarked.is_closed()


def test_a_slot_that_is_missed_gives_none() -> None:
    assert next_bookmark_s(10.0, None) == 70.0
    assert next_bookmark_s(10.0, 30.0) == 28.0
    assert next_bookmark_s(28.0, 30.0) is None


async def test_watchers_of_one_view_share_its_bytes(cluster: Cluster) -> None:
    watches = [await cluster.watch(WatchQuery(state=AnyState(), bookmarks=True)) for _ in range(3)]
    await cluster.write("a/x")

    await cluster.clock.advance(61)

    assert len({id(watch.sink.bursts[-1]) for watch in watches}) == 1
    assert watches[0].lines[-1] == "BOOKMARK 2"


async def test_a_bookmark_that_is_first_in_its_stream_is_made_so(cluster: Cluster) -> None:
    watch = await cluster.watch(WatchQuery(selection("no=match"), state=AnyState(), bookmarks=True))
    await cluster.write("a/x")

    await cluster.clock.advance(121)

    assert [event.is_first for event in watch.events] == [True, False]


async def test_a_reader_that_is_behind_gets_none(cluster: Cluster) -> None:
    sink = RecordingSink(is_reading=False)
    for n in range(800):
        await cluster.write(f"a/{n}")
    watch = await cluster.watch(from_start(bookmarks=True), sink=sink)
    await cluster.write("b/x")

    await cluster.clock.advance(120)

    assert sink.bursts
    assert not any(b"BOOKMARK" in frame for frame in sink.waiting)
    assert not watch.is_closed()


async def test_what_waits_for_the_end_of_the_turn_goes_out_before_it(cluster: Cluster) -> None:
    """A change applied in the very callback that sends bookmarks must not be overtaken."""
    stored = StoredValue(f"{PREFIX}a/x", stored_object("a/x"), 2)

    def change() -> None:
        cluster.cache.apply(Change(2, stored.key, None, stored))
        cluster.caches._freshness.reached(2)

    cluster.caches._timers.at(59.9, change, grain_s=1.0)
    watch = await cluster.watch(WatchQuery(state=AnyState(), bookmarks=True))
    await cluster.clock.advance(61)

    assert watch.lines == ["ADDED a/x 2", "BOOKMARK 2"]
