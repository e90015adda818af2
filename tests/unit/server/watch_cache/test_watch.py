"""Starting a watch, and what it receives (server.md §2.8, §3.4, §4.11, cases of §10)."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field

from proreus.server.watch_cache.object import CachedObject
from proreus.server.watch_cache.query import AnyState, Latest, NotOlderThan, WatchQuery
from proreus.testing.virtual_clock import VirtualClock
from tests.watching import (
    Cluster,
    LinesView,
    RecordingSink,
    Watch,
    cluster_on_memory,
    from_start,
    selection,
)


async def test_a_watch_from_the_start_gets_the_state_then_its_end_then_changes(
    cluster: Cluster,
) -> None:
    await cluster.write("b/x")
    now = await cluster.write("a/y")

    watch = await cluster.watch(from_start(bookmarks=True))
    await cluster.settle()
    await cluster.delete("b/x")
    await cluster.settle()

    assert watch.lines == [
        f"ADDED a/y {now}",
        f"ADDED b/x {now - 1}",
        f"BOOKMARK {now} end",
        f"DELETED b/x {now + 1}",
    ]


async def test_nothing_is_written_before_the_watch_has_been_handed_over(cluster: Cluster) -> None:
    await cluster.write("a/x")
    await cluster.settle()

    watch = await cluster.watch(WatchQuery(state=AnyState(), send_initial=True))

    assert watch.lines == []
    await cluster.settle()
    assert watch.lines == ["ADDED a/x 2"]


async def test_the_end_is_marked_even_if_nothing_matches(cluster: Cluster) -> None:
    watch = await cluster.watch(from_start(bookmarks=True, select=selection("a=b")))
    await cluster.settle()

    assert watch.lines == ["BOOKMARK 1 end"]


async def test_without_bookmarks_there_is_no_end_mark(cluster: Cluster) -> None:
    watch = await cluster.watch(from_start(bookmarks=False))
    await cluster.clock.advance(200)

    assert watch.lines == []


async def test_a_consistent_start_sees_what_was_written_before(cluster: Cluster) -> None:
    revision = await cluster.write("a/x")

    watch = await cluster.watch(from_start(bookmarks=True))
    await cluster.settle()

    assert watch.lines == [f"ADDED a/x {revision}", f"BOOKMARK {revision} end"]


async def test_a_start_at_a_revision_to_come_waits_and_then_fails_in_the_stream(
    cluster: Cluster,
) -> None:
    asked = WatchQuery(state=NotOlderThan(50), send_initial=True)
    async with asyncio.TaskGroup() as group:
        starting = group.create_task(cluster.watch(asked))
        await cluster.clock.advance(3.1)
    await cluster.settle()

    watch = starting.result()
    assert watch.lines == ["ERROR 504 Timeout: Too large resource version: 50, current: 1"]
    assert watch.is_closed()


async def test_a_watch_after_a_revision_gets_only_later_changes(cluster: Cluster) -> None:
    first = await cluster.write("a/x")
    await cluster.write("a/x", n=1)
    await cluster.delete("a/x")
    await cluster.settle()

    watch = await cluster.watch(WatchQuery(after=first))
    await cluster.settle()

    assert watch.lines == [f"MODIFIED a/x {first + 1}", f"DELETED a/x {first + 2}"]


async def test_a_watch_after_a_revision_to_come_is_silent_until_it_is_past(
    cluster: Cluster,
) -> None:
    watch = await cluster.watch(WatchQuery(after=4, bookmarks=True))
    for n in range(5):
        await cluster.write("a/x", n=n)
        await cluster.settle()
        if n == 0:
            assert repr(watch.subscriber).endswith("waiting for a revision after 4>")

    assert watch.lines == ["MODIFIED a/x 5", "MODIFIED a/x 6"]


async def test_a_watch_without_initial_events_starts_now(cluster: Cluster) -> None:
    await cluster.write("a/old")

    latest = await cluster.watch(WatchQuery(state=Latest()))
    revision = await cluster.write("a/new")
    await cluster.settle()
    current = await cluster.watch(WatchQuery(state=AnyState()))
    await cluster.delete("a/new")
    await cluster.settle()

    assert latest.lines == [f"ADDED a/new {revision}", f"DELETED a/new {revision + 1}"]
    assert current.lines == [f"DELETED a/new {revision + 1}"]


async def test_a_watch_older_than_history_is_refused_and_ended(cluster: Cluster) -> None:
    for n in range(110):
        await cluster.write("a/x", n=n)
        await cluster.clock.advance(1)

    watch = await cluster.watch(WatchQuery(after=3))
    await cluster.settle()

    oldest = cluster.cache.complete_after
    assert watch.lines == [f"ERROR 410 too old resource version: 3 ({oldest})"]
    assert watch.events[0].object["reason"] == "Expired"
    assert watch.is_closed()
    assert repr(watch.subscriber) == "<Subscriber to everything: closed: too old>"


async def test_an_object_that_stops_matching_is_deleted_as_it_was(cluster: Cluster) -> None:
    watch = await cluster.watch(WatchQuery(selection("app=web"), state=AnyState()))

    await cluster.write("a/x", labels={"app": "web"}, n=1)
    left = await cluster.write("a/x", labels={"app": "db"}, n=2)
    await cluster.write("a/x", labels={"app": "db"}, n=3)
    back = await cluster.write("a/x", labels={"app": "web"}, n=4)
    gone = await cluster.delete("a/x")
    await cluster.settle()

    assert watch.lines == [
        "ADDED a/x 2",
        f"DELETED a/x {left}",
        f"ADDED a/x {back}",
        f"DELETED a/x {gone}",
    ]
    assert watch.events[1].object["metadata"]["labels"] == {"app": "web"}
    assert watch.events[1].object["spec"]["n"] == 1


async def test_a_pod_that_is_bound_moves_from_one_node_watch_to_another(cluster: Cluster) -> None:
    pending = await cluster.watch(WatchQuery(selection(fields="spec.nodeName="), state=AnyState()))
    node = await cluster.watch(WatchQuery(selection(fields="spec.nodeName=n1"), state=AnyState()))
    other = await cluster.watch(WatchQuery(selection(fields="spec.nodeName=n2"), state=AnyState()))

    created = await cluster.write("a/x")
    bound = await cluster.write("a/x", node="n1")
    await cluster.settle()

    assert pending.lines == [f"ADDED a/x {created}", f"DELETED a/x {bound}"]
    assert node.lines == [f"ADDED a/x {bound}"]
    assert other.lines == []


async def test_watches_of_a_namespace_and_of_a_name_get_only_theirs(cluster: Cluster) -> None:
    namespace = await watching(cluster, namespace="a")
    named = await watching(cluster, namespace="a", name="x")
    by_field = await watching(cluster, fields="metadata.name=x")
    for key in ("a/x", "a/y", "b/x"):
        await cluster.write(key)
    await cluster.settle()

    assert namespace.lines == ["ADDED a/x 2", "ADDED a/y 3"]
    assert named.lines == ["ADDED a/x 2"]
    assert by_field.lines == ["ADDED a/x 2", "ADDED b/x 4"]


async def watching(cluster: Cluster, **wanted: str) -> Watch:
    return await cluster.watch(WatchQuery(selection(**wanted), state=AnyState()))


async def test_the_deadline_ends_the_stream_without_an_error(cluster: Cluster) -> None:
    watch = await cluster.watch(WatchQuery(state=AnyState(), timeout_s=5))

    await cluster.clock.advance(4.9)
    assert not watch.is_closed()
    await cluster.clock.advance(0.2)

    assert watch.is_closed()
    assert watch.lines == []
    await asyncio.wait_for(watch.subscriber.wait_closed(), 1)
    assert repr(watch.subscriber) == "<Subscriber to everything: closed: deadline>"


async def test_a_state_that_does_not_come_is_reported_even_after_the_deadline(
    cluster: Cluster,
) -> None:
    query = WatchQuery(state=NotOlderThan(99), send_initial=True, timeout_s=1)

    starting = asyncio.create_task(cluster.watch(query))
    await cluster.clock.advance(3.1)
    watch = await starting
    await cluster.settle()

    assert watch.lines == ["ERROR 504 Timeout: Too large resource version: 99, current: 1"]


async def test_a_negative_timeout_ends_it_at_once(cluster: Cluster) -> None:
    watch = await cluster.watch(WatchQuery(state=AnyState(), timeout_s=-1))

    await cluster.clock.advance(0)

    assert watch.is_closed()


async def test_a_reader_that_leaves_is_forgotten(cluster: Cluster) -> None:
    watch = await cluster.watch(WatchQuery(state=AnyState(), timeout_s=3600, bookmarks=True))
    assert len(cluster.cache.subscribers) == 1

    watch.subscriber.close()
    watch.subscriber.close()
    await cluster.write("a/x")
    await cluster.settle()

    assert cluster.cache.subscribers == []
    assert watch.lines == []
    assert cluster.clock.timer_count == 0


async def test_the_first_event_of_a_stream_is_made_for_it_alone(cluster: Cluster) -> None:
    """A Table has its column definitions in the first event only, whenever a watcher joined."""
    early = await cluster.watch()
    await cluster.write("a/x")
    await cluster.settle()
    late = await cluster.watch()
    replaying = await cluster.watch(WatchQuery(after=1))
    await cluster.write("a/y")
    await cluster.write("a/z")
    await cluster.settle()

    assert [event.is_first for event in early.events] == [True, False, False]
    assert [event.is_first for event in late.events] == [True, False]
    assert [event.is_first for event in replaying.events] == [True, False, False]


async def test_a_large_initial_state_is_written_as_fast_as_it_is_read(cluster: Cluster) -> None:
    for n in range(1000):
        await cluster.write(f"a/{n:04}")
    await cluster.settle()
    sink = RecordingSink(is_reading=False)

    watch = await cluster.watch(from_start(bookmarks=True), sink=sink)
    await cluster.clock.advance(1)
    assert 0 < sink.buffered < 100_000
    assert "objects read" in repr(watch.subscriber)
    revision = await cluster.write("a/0500", n=1)
    for _ in range(40):
        sink.read()
        await cluster.clock.advance(0.2)

    lines = watch.lines
    assert lines[1000:] == [f"BOOKMARK {revision - 1} end", f"MODIFIED a/0500 {revision}"]
    assert [event.key for event in watch.events[:1000]] == [f"a/{n:04}" for n in range(1000)]


class SpendingClock(VirtualClock):
    """``spent_s``: what work on the loop took."""

    spent_s = 0.0

    def monotonic(self) -> float:
        return super().monotonic() + self.spent_s


@dataclass(frozen=True)
class SlowView(LinesView):
    """Takes a tenth of a millisecond to encode an event."""

    clock: SpendingClock = field(default_factory=SpendingClock, compare=False)

    def event(self, event_type: str, obj: CachedObject) -> bytes:
        self.clock.spent_s += 0.0001
        return super().event(event_type, obj)


async def test_events_that_take_long_to_encode_are_written_a_few_per_turn() -> None:
    clock = SpendingClock()
    async with cluster_on_memory(clock) as cluster:
        for n in range(100):
            last = await cluster.write(f"a/{n:04}")
        await cluster.reached(last)

        listing = await cluster.watch(from_start(), view=SlowView(clock=clock))
        replaying = await cluster.watch(WatchQuery(after=1), view=SlowView(clock=clock))
        await cluster.settle()

    for watch in (listing, replaying):
        assert [event.key for event in watch.events] == [f"a/{n:04}" for n in range(100)]
        assert max(len(burst.frames) for burst in watch.sink.bursts) == 3


async def test_a_client_that_leaves_while_the_start_waits_leaves_nothing(cluster: Cluster) -> None:
    asked = WatchQuery(state=NotOlderThan(50), send_initial=True)
    async with asyncio.TaskGroup() as group:
        starting = group.create_task(cluster.watch(asked))
        await cluster.settle()
        starting.cancel()

    assert cluster.cache.subscribers == []
