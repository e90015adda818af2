"""Guarantee: isolated. A slow or dead watcher costs the others nothing."""

from __future__ import annotations

from proreus.server.watch_cache.phase import Closed
from tests.guarantees.story import (
    Burst,
    Open,
    Pass,
    Settle,
    Step,
    StopReading,
    Store,
    Story,
    for_all_stories,
    played,
)

# The last: writers wrote more than history holds while it replayed that.
_NOT_FOR_ANOTHER = ("by its reader", "reloading", "too old", "overtaken by history")


def test_a_watcher_that_reads_is_never_closed_for_another_that_does_not(store: Store) -> None:
    def check(story: Story) -> None:
        for stream in story.streams:
            phase = stream.watch.subscriber.phase
            if isinstance(phase, Closed) and not stream.has_stopped:
                assert phase.reason in _NOT_FOR_ANOTHER, stream

    for_all_stories(store, check)


def test_a_stream_that_is_taken_away_ends_without_an_error(store: Store) -> None:
    def check(story: Story) -> None:
        for stream in story.streams:
            phase = stream.watch.subscriber.phase
            if isinstance(phase, Closed) and phase.reason != "too old":
                assert stream.error is None, stream

    for_all_stories(store, check)


async def test_of_many_watchers_only_the_one_that_stopped_is_closed(
    store: Store,
) -> None:
    opens: list[Step] = [Open(0, "now", 0) for _ in range(10)]

    story = await played([*opens, StopReading(3), Burst(100), Pass(0.2)], store)

    assert _closed(story) == [3]
    assert [len(s.changes) for n, s in enumerate(story.streams) if n != 3] == [100] * 9


async def test_one_that_stops_in_the_initial_state_harms_nobody(
    store: Store,
) -> None:
    steps: list[Step] = [Burst(50), Open(0, "initial", 0), StopReading(0), Open(0, "now", 0)]

    story = await played([*steps, Settle(), Burst(60), Pass(61.0), Burst(60)], store)

    assert [len(stream.changes) for stream in story.streams[1:]] == [120]


async def test_one_that_reads_again_within_the_budget_is_not_closed(store: Store) -> None:
    story = await played([Open(0, "now", 0), StopReading(0), Burst(100)], store)

    assert _closed(story) == []
    assert len(story.streams[0].changes) == 100


def _closed(story: Story) -> list[int]:
    return [n for n, stream in enumerate(story.streams) if stream.watch.is_closed()]
