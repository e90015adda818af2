"""One change to many watchers: what is made once, what is looked at, what is written together."""

from __future__ import annotations

import asyncio
from functools import partial

from proreus.net.http1.messages import chunk_of
from proreus.server.storage.interface import Change, StoredValue
from proreus.server.watch_cache.fan_out import rest_s
from proreus.server.watch_cache.object import CachedObject
from proreus.server.watch_cache.query import AnyState, ListQuery, WatchQuery
from proreus.server.watch_cache.selecting import Matches, scope_of
from proreus.server.watch_cache.view import Burst
from tests.watching import (
    PREFIX,
    Cluster,
    LinesView,
    RecordingSink,
    selection,
    stored_object,
)


async def test_a_frame_is_made_once_per_view_for_all_watchers(cluster: Cluster) -> None:
    lines, other = LinesView("lines"), LinesView("other")
    watches = [await cluster.watch(view=lines) for _ in range(5)]
    watches += [await cluster.watch(view=other) for _ in range(5)]
    await cluster.write("a/first")
    await cluster.settle()
    lines.made.clear()
    other.made.clear()

    await cluster.write("a/x")
    await cluster.settle()

    assert lines.made == other.made == ["ADDED"]
    assert len({id(watch.sink.bursts[-1]) for watch in watches}) == 2


async def test_frames_are_shared_between_different_selections(cluster: Cluster) -> None:
    view = LinesView()
    for select in (selection(), selection(namespace="a"), selection("app=web")):
        await cluster.watch(WatchQuery(select, state=AnyState()), view=view)
    await cluster.write("a/first", labels={"app": "web"})
    await cluster.settle()
    view.made.clear()

    await cluster.write("a/x", labels={"app": "web"})
    await cluster.settle()

    assert view.made == ["ADDED"]


async def test_the_changes_of_one_turn_are_one_write(cluster: Cluster) -> None:
    watch = await cluster.watch()

    for n in range(30):
        await cluster.write(f"a/{n:02}")
    await cluster.settle()

    assert len(watch.sink.bursts) == 1
    assert len(watch.lines) == 30


async def test_one_who_joins_between_two_flushes_gets_nothing_twice(cluster: Cluster) -> None:
    early = await cluster.watch()
    await cluster.write("a/x")
    await cluster.cache.list(ListQuery())  # applied, and perhaps not yet flushed
    late = await cluster.watch(WatchQuery(state=AnyState(), send_initial=True))
    joined = await cluster.watch()
    await cluster.write("a/y")
    await cluster.settle()

    assert early.lines == ["ADDED a/x 2", "ADDED a/y 3"]
    assert late.lines == ["ADDED a/x 2", "ADDED a/y 3"]
    assert joined.lines == ["ADDED a/y 3"]


async def test_one_who_joins_in_the_moment_the_only_other_is_too_slow_gets_every_change(
    cluster: Cluster,
) -> None:
    view = LinesView()
    stuck = await cluster.watch(view=view, sink=RecordingSink(is_reading=False))
    stuck.sink.waiting.append(b"x" * 1_000_000)  # more than a stopped reader's buffer may hold
    crowd = [await cluster.watch(view=view) for _ in range(3)]  # with it many: a flush is to come
    await cluster.write("a/x")
    while not cluster.cache._fan_out.frames_waiting(stuck.subscriber):  # noqa: ASYNC110  # to be flushed in the next turn
        await asyncio.sleep(0)
    for other in crowd:
        other.subscriber.close()

    joined = await cluster.watch(view=view)
    await cluster.write("a/y")
    await cluster.settle()

    assert repr(stuck.subscriber).endswith("catching up>")
    assert joined.lines == ["ADDED a/y 3"]
    joined.subscriber.close()
    assert repr(cluster.cache._fan_out) == "<FanOut to 0 live watchers in 0 audiences>"


async def test_an_event_looks_only_at_the_watchers_it_can_concern(cluster: Cluster) -> None:
    looked: list[str] = []

    def look(node: str, ask: Matches | None, obj: CachedObject) -> bool:
        looked.append(node)
        return ask is None or ask(obj)

    for n in range(100):
        on_node = selection(fields=f"spec.nodeName=n{n}")
        watch = await cluster.watch(WatchQuery(on_node, state=AnyState()))
        audience = cluster.cache._fan_out._by_exact[f"n{n}"][on_node]
        audience.matches = partial(look, f"n{n}", watch.subscriber.matches)
        await cluster.watch(WatchQuery(selection(namespace=f"ns{n}"), state=AnyState()))

    await cluster.write("a/x", node="n7")
    await cluster.write("a/x", node="n8")
    await cluster.settle()

    assert set(looked) == {"n7", "n8"}
    assert repr(cluster.cache._fan_out) == "<FanOut to 200 live watchers in 200 audiences>"


async def test_an_update_that_no_selector_can_tell_is_tested_once(cluster: Cluster) -> None:
    looked: list[str] = []

    def look(obj: CachedObject) -> bool:
        looked.append(f"{obj.key} {obj.revision}")
        return obj.labels.get("app") == "web"

    web = selection("app=web")
    watch = await cluster.watch(WatchQuery(web, state=AnyState()))
    cluster.cache._fan_out._by_scope[scope_of(web)][web].matches = look
    await cluster.write("a/x", labels={"app": "web"})
    await cluster.write("a/y", labels={"app": "db"})
    await cluster.settle()
    looked.clear()

    await cluster.write("a/x", labels={"app": "web"})
    await cluster.write("a/y", labels={"app": "db"})
    await cluster.write("a/x", labels={"app": "db"})
    await cluster.settle()

    assert looked == ["a/x 4", "a/y 5", "a/x 4", "a/x 6"]
    assert watch.lines == ["ADDED a/x 2", "MODIFIED a/x 4", "DELETED a/x 6"]


async def test_an_audience_nobody_is_left_in_is_forgotten(cluster: Cluster) -> None:
    watches = [
        await cluster.watch(WatchQuery(selection(fields=f"spec.nodeName=n{n}"), state=AnyState()))
        for n in range(10)
    ]
    watches.append(await cluster.watch())

    for watch in watches:
        watch.subscriber.close()

    assert repr(cluster.cache._fan_out) == "<FanOut to 0 live watchers in 0 audiences>"
    assert not cluster.cache._fan_out._by_exact


def test_a_burst_is_encoded_once_for_all_watchers() -> None:
    burst = Burst((b"one\n", b"three\n"))

    assert burst.encoded(chunk_of) == b"a\r\none\nthree\n\r\n"
    assert burst.encoded(chunk_of) is burst.encoded(chunk_of)
    assert Burst((b"one\n",)).encoded(chunk_of) == b"4\r\none\n\r\n"
    assert repr(burst) == "<Burst of 2 frames, 10 B>"


async def test_many_watchers_are_written_to_in_a_turn_of_their_own(cluster: Cluster) -> None:
    """So that the writer, whose turn comes before, is not kept waiting by all of them."""
    few = [await cluster.watch(view=LinesView("few")) for _ in range(3)]
    many = [await cluster.watch(view=LinesView("many")) for _ in range(4)]
    stored = StoredValue(f"{PREFIX}a/x", stored_object("a/x"), 2)

    cluster.cache.apply(Change(2, stored.key, None, stored))
    cluster.cache.end_turn()

    assert [watch.lines for watch in few] == [["ADDED a/x 2"]] * 3
    assert [watch.lines for watch in many] == [[]] * 4
    await cluster.settle()
    assert [watch.lines for watch in many] == [["ADDED a/x 2"]] * 4


async def test_few_watchers_do_not_wait_for_what_many_wait_for(cluster: Cluster) -> None:
    fan_out = cluster.cache._fan_out
    many = [await cluster.watch() for _ in range(4)]
    one = await cluster.watch(WatchQuery(selection(namespace="a"), state=AnyState()))
    fan_out._rests_until_s = cluster.clock.monotonic() + 0.008  # the last flush took long

    await cluster.write("a/x")
    await cluster.settle()

    assert one.lines == ["ADDED a/x 2"]
    assert [watch.lines for watch in many] == [[]] * 4
    await cluster.clock.advance(0.008)
    assert [watch.lines for watch in many] == [["ADDED a/x 2"]] * 4


def test_after_a_long_write_to_many_watchers_their_next_frames_go_out_together() -> None:
    assert rest_s(0.002) == 0.004
    assert rest_s(0.1) == 0.008


def test_after_a_short_write_the_next_is_not_kept_waiting() -> None:
    assert rest_s(0.0001) == 0
