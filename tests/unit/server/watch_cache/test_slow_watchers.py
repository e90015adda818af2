"""A reader that does not keep up loses its watch, never single events, and harms nobody."""

from __future__ import annotations

import pytest

from proreus.server.watch_cache.query import AnyState, WatchQuery
from proreus.server.watch_cache.slow_watchers import TimeBudget
from tests.watching import Cluster, RecordingSink


async def overfill(cluster: Cluster, *, count: int = 900) -> int:
    """Write more than a stopped reader's buffer may hold."""
    for n in range(count):
        revision = await cluster.write("a/x", n=n)
    await cluster.reached(revision)
    return revision


async def test_a_reader_that_stops_is_closed_alone_and_without_an_error(cluster: Cluster) -> None:
    """Guarantee: isolated."""
    stuck = await cluster.watch(sink=RecordingSink(is_reading=False))
    others = [await cluster.watch() for _ in range(3)]

    await overfill(cluster)
    assert not stuck.is_closed()
    await cluster.clock.advance(0.11)

    assert stuck.is_closed()
    assert repr(stuck.subscriber) == "<Subscriber to everything: closed: too slow>"
    assert not any(b"ERROR" in frame for frame in stuck.sink.waiting)
    assert [len(watch.lines) for watch in others] == [900] * 3
    assert cluster.cache.reading().terminated == 1


async def test_a_reader_that_catches_up_in_time_misses_nothing(cluster: Cluster) -> None:
    late = await cluster.watch(sink=RecordingSink(is_reading=False))
    await overfill(cluster)
    assert repr(late.subscriber).endswith("catching up>")

    await cluster.clock.advance(0.05)
    late.sink.is_reading = True
    late.sink.read()
    last = await cluster.write("a/x", n=-1)
    await cluster.clock.advance(1)

    assert not late.is_closed()
    assert [event.revision for event in late.events] == list(range(2, last + 1))


async def test_what_waits_for_a_stopped_reader_is_bounded(cluster: Cluster) -> None:
    stuck = await cluster.watch(sink=RecordingSink(is_reading=False))
    await overfill(cluster)
    held = stuck.sink.buffered

    for n in range(500):
        await cluster.write("a/y", n=n)
    await cluster.settle()

    assert stuck.sink.buffered == held


async def test_a_reader_overtaken_by_history_is_closed_not_skipped(cluster: Cluster) -> None:
    sink = RecordingSink(is_reading=False)
    for n in range(1000):
        await cluster.write(f"a/{n:04}")
    watch = await cluster.watch(WatchQuery(state=AnyState(), send_initial=True), sink=sink)
    await cluster.settle()
    for n in range(1200):
        revision = await cluster.write("b/x", n=n)
        await cluster.reached(revision)
        await cluster.clock.advance(1)

    for _ in range(30):
        sink.read()
        await cluster.clock.advance(0.2)

    assert watch.is_closed()
    assert repr(watch.subscriber) == "<Subscriber to everything: closed: overtaken by history>"
    assert not any("b/x" in line for line in watch.lines)


async def test_several_slow_ones_share_the_time(cluster: Cluster) -> None:
    first = await cluster.watch(sink=RecordingSink(is_reading=False))
    await overfill(cluster)
    await cluster.clock.advance(0.08)
    second = await cluster.watch(sink=RecordingSink(is_reading=False))
    await overfill(cluster)
    assert not (first.is_closed() or second.is_closed())

    await cluster.clock.advance(0.03)

    assert first.is_closed() and second.is_closed()


def test_the_budget_refills_slowly_and_is_capped() -> None:
    budget = TimeBudget(0.0)
    assert budget.left_s(100.0) == pytest.approx(0.1)

    budget.spend(100.0, is_spent=True)
    assert budget.left_s(100.06) == pytest.approx(0.04)
    assert budget.left_s(101.0) == 0.0

    budget.spend(101.0, is_spent=False)
    assert budget.left_s(102.0) == pytest.approx(0.05)
    assert budget.left_s(200.0) == pytest.approx(0.1)


def test_the_time_slow_readers_took_is_gone_once_they_have_caught_up() -> None:
    budget = TimeBudget(100.0)

    budget.spend(100.0, is_spent=True)
    budget.spend(100.06, is_spent=False)

    assert budget.left_s(100.06) == pytest.approx(0.04)
    assert budget.left_s(101.06) == pytest.approx(0.09)
