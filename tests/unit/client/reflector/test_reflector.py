"""Reflector: a scripted server on a virtual clock, what is asked and what is handed on."""

from __future__ import annotations

import contextlib
import itertools
import random
from collections.abc import AsyncIterator

from proreus.api.object import KubeObject
from proreus.api.object_list import ObjectList
from proreus.api.status import Expired, Invalid, ResourceVersionTooLarge, TooManyRequests
from proreus.api.wire.framing import WatchEvent
from proreus.client.discovery.mapper import UnknownResource
from proreus.client.informer import DeltaFifo, Indexer, Reflector, ReflectorConfig, Transform
from proreus.net.client.transport_error import ConnectionLost, ConnectionRefused
from proreus.testing.virtual_clock import VirtualClock
from tests.parts import running_part
from tests.unit.client.informer.scripted import (
    Asked,
    ScriptedListWatch,
    Stream,
    added,
    bookmark,
    deleted,
    modified,
    page,
    pod,
)

LOST = ConnectionLost("https://x", "reset")
REFUSED = ConnectionRefused("https://x", "refused")
EXPIRED = Expired("too old resource version: 7 (20)")
LISTS = ReflectorConfig(stream_lists=False)


class Bench:
    """A running reflector whose deltas the test takes out by hand."""

    def __init__(
        self,
        script: ScriptedListWatch,
        config: ReflectorConfig,
        transform: Transform | None,
    ) -> None:
        self.clock = VirtualClock()
        self.script = script
        self.known = Indexer()
        self.fifo = DeltaFifo(self.known, clock=self.clock)
        self.reflector = Reflector(
            script,
            self.fifo,
            name="pods",
            config=config,
            clock=self.clock,
            transform=transform,
            randomness=random.Random(7),
        )

    def taken(self) -> list[str]:
        """What was handed on since the last call: ``a Added 3``."""
        words: list[str] = []
        while len(self.fifo):
            self.fifo.pop(
                lambda key, deltas, _: words.extend(
                    f"{key.partition('/')[2]} {d.type.value} {d.object.resource_version}"
                    for d in deltas
                )
            )
        return words


@contextlib.asynccontextmanager
async def running(
    *answers: ObjectList | Stream | Exception,
    config: ReflectorConfig = LISTS,
    transform: Transform | None = None,
) -> AsyncIterator[Bench]:
    bench = Bench(ScriptedListWatch(*answers), config, transform)
    async with running_part(bench.reflector.run()):
        await bench.clock.settle()
        yield bench


async def test_it_lists_then_watches_from_the_lists_version() -> None:
    """Cases 15 and 16: page two carries only the token."""
    async with running(
        page(pod("a", 3), version=10, token="t2"),
        page(pod("b", 4), version=11, token="t3"),
        page(pod("c", 5), version=12),
    ) as bench:
        assert bench.script.asked == [
            Asked("list", "0", 500),
            Asked("list", "", 500, "t2"),
            Asked("list", "", 500, "t3"),
            Asked("watch", "10"),
        ]
        assert bench.taken() == ["a Replaced 3", "b Replaced 4", "c Replaced 5"]
        assert bench.script.bookmarks == [True]
        assert 300 <= bench.script.timeouts[0] < 600


async def test_watch_timeouts_are_spread() -> None:
    async with running(page(version=1), *[REFUSED] * 20) as bench:
        await bench.clock.advance(1200)

        assert len(set(bench.script.timeouts)) > 5
        assert all(300 <= timeout_s < 600 for timeout_s in bench.script.timeouts)


async def test_a_watch_closed_by_its_timeout_resumes_without_a_list_and_without_news() -> None:
    """client.md §14 case 20."""
    stream = Stream(modified("a", 8))
    async with running(page(pod("a", 3), version=7), stream) as bench:
        bench.taken()
        await bench.clock.advance(60)
        stream.close()
        await bench.clock.settle()

        assert bench.script.asked[1:] == [Asked("watch", "7"), Asked("watch", "8")]
        assert bench.taken() == []


async def test_an_error_event_410_relists_at_the_last_version_after_at_least_800_ms() -> None:
    """client.md §14 case 21."""
    stream = Stream(modified("a", 8)).fail(EXPIRED)
    async with running(page(version=7), stream, page(version=9)) as bench:
        await bench.clock.advance(0.79)
        early = list(bench.script.asked)
        await bench.clock.advance(0.81)

        assert early[-1] == Asked("watch", "7")
        assert bench.script.asked[2:] == [Asked("list", "8", 0), Asked("watch", "9")]


async def test_a_status_that_comes_as_an_event_is_an_error_too() -> None:
    gone = WatchEvent("ERROR", KubeObject.from_dict(EXPIRED.status))
    async with running(page(version=7), Stream(gone), page(version=9)) as bench:
        await bench.clock.advance(2)

        assert bench.script.asked[2:] == [Asked("list", "7", 0), Asked("watch", "9")]


async def test_a_refused_connection_is_tried_until_the_server_is_back_and_never_lists() -> None:
    """client.md §14 case 22."""
    stream = Stream()
    async with running(page(version=7), stream, *[REFUSED] * 6, Stream(modified("a", 8))) as bench:
        await bench.clock.advance(60)
        stream.close()
        await bench.clock.advance(120)

        assert bench.script.asked[1:] == [Asked("watch", "7")] * 8
        assert bench.taken() == ["a Updated 8"]


async def test_delays_grow_from_800_ms_to_30_s_and_start_over_after_health() -> None:
    async with running(*[REFUSED] * 30) as bench:
        at: list[float] = []
        while len(at) < 9:
            await bench.clock.advance(0.1)
            if len(bench.script.asked) > len(at) + 1:
                at.append(bench.clock.monotonic())
        gaps = [round(after - before, 1) for before, after in itertools.pairwise(at)]

        for gap, least in zip(gaps, [1.6, 3.2, 6.4, 12.8, 25.6, 30, 30, 30], strict=True):
            assert least <= gap <= 2 * least + 0.2, gaps


async def test_a_watch_that_closes_at_once_backs_off_and_relists() -> None:
    """client.md §14 case 23."""
    async with running(page(version=7), Stream().close(), page(version=8)) as bench:
        before = len(bench.script.asked)
        await bench.clock.advance(2)

        assert before == 2, "no spinning"
        assert bench.script.asked[2:] == [Asked("list", "7", 0), Asked("watch", "8")]


async def test_synthetic_adds_do_not_move_the_version_to_resume_from() -> None:
    """client.md §14 case 24: a list without a version, as some aggregated APIs give it."""
    stream = Stream(added("b", 9), added("a", 3))
    async with running(page(version=0), stream) as bench:
        await bench.clock.advance(5)
        stream.fail(LOST)
        await bench.clock.settle()

        assert bench.script.asked[1:] == [Asked("watch", "0"), Asked("watch", "0")]


async def test_after_the_first_real_change_versions_count() -> None:
    stream = Stream(added("b", 9), modified("a", 12))
    async with running(page(version=0), stream) as bench:
        await bench.clock.advance(5)
        stream.close()
        await bench.clock.settle()

        assert bench.script.asked[-1] == Asked("watch", "12")


async def test_a_bookmark_moves_the_version_and_nothing_else() -> None:
    """client.md §14 case 25."""
    stream = Stream(bookmark(50))
    async with running(page(version=7), stream) as bench:
        await bench.clock.advance(60)
        stream.close()
        await bench.clock.settle()

        assert bench.script.asked[1:] == [Asked("watch", "7"), Asked("watch", "50")]
        assert bench.taken() == []


async def test_410_on_the_second_page_is_followed_by_one_whole_list() -> None:
    """client.md §14 case 18."""
    async with running(
        page(pod("half", 1), version=10, token="t2"), EXPIRED, page(pod("a", 3), version=20)
    ) as bench:
        assert bench.script.asked[2:] == [Asked("list", "0", 0), Asked("watch", "20")]
        assert bench.taken() == ["a Replaced 3"]


async def test_410_and_too_large_on_the_first_page_are_followed_by_the_newest_state() -> None:
    """Cases 18 and 19: at once, without backing off."""
    too_large = ResourceVersionTooLarge.of(9, 5, retry_after_s=1)
    for failure in (EXPIRED, too_large):
        async with running(failure, page(version=20)) as bench:
            assert bench.script.asked == [
                Asked("list", "0", 500),
                Asked("list", "", 500),
                Asked("watch", "20"),
            ]


async def test_a_429_is_waited_out_as_long_as_the_server_asks() -> None:
    stream = Stream().fail(TooManyRequests.of("busy", 20))
    async with running(page(version=7), stream) as bench:
        await bench.clock.advance(19.9)
        before = len(bench.script.asked)
        await bench.clock.advance(0.2)

        assert before == 2
        assert bench.script.asked[2:] == [Asked("watch", "7")]


# The list as a stream


async def test_the_collection_is_streamed_and_the_stream_goes_on() -> None:
    stream = Stream(added("a", 3), added("b", 9), modified("a", 10), deleted("b", 11))
    async with running(stream, config=ReflectorConfig()) as bench:
        before = bench.taken()
        stream.send(bookmark(12, end=True), modified("a", 13))
        await bench.clock.settle()

        assert before == [], "nothing of an incomplete collection is handed on"
        assert bench.taken() == ["a Replaced 10", "a Updated 13"]
        assert bench.script.asked == [Asked("watch-list", "")]
        assert bench.script.bookmarks == [True]


async def test_a_streamed_list_that_breaks_leaves_no_trace() -> None:
    """client.md §14 case 26."""
    broken = Stream(added("half", 3))
    whole = Stream(added("a", 4), bookmark(5, end=True))
    async with running(broken, whole, config=ReflectorConfig()) as bench:
        await bench.clock.advance(5)
        broken.fail(LOST)
        await bench.clock.settle()

        assert bench.script.asked == [Asked("watch-list", ""), Asked("watch-list", "")]
        assert bench.taken() == ["a Replaced 4"]


async def test_a_server_without_streaming_is_listed_in_the_same_pass() -> None:
    """client.md §14 case 27."""
    async with running(
        Invalid("sendInitialEvents is forbidden"), page(version=3), config=ReflectorConfig()
    ) as bench:
        assert bench.clock.monotonic() == 0
        assert bench.script.asked == [
            Asked("watch-list", ""),
            Asked("list", "0", 500),
            Asked("watch", "3"),
        ]


async def test_a_server_that_ignores_the_option_is_listed_after_ten_silent_seconds() -> None:
    stream = Stream(added("a", 3))
    async with running(stream, page(pod("a", 3), version=3), config=ReflectorConfig()) as bench:
        await bench.clock.advance(9)
        patient = len(bench.script.asked)
        await bench.clock.advance(2)

        assert patient == 1
        assert bench.script.asked[1:] == [Asked("list", "0", 500), Asked("watch", "3")]
        assert stream.is_released


async def test_the_transform_runs_once_per_streamed_object() -> None:
    """client.md §14 case 35, at the reflector: client-go calls it twice."""
    calls: list[str] = []

    def count(obj: KubeObject) -> KubeObject:
        calls.append(obj.name)
        return obj

    stream = Stream(added("a", 3), added("b", 4), bookmark(5, end=True))
    async with running(stream, config=ReflectorConfig(), transform=count) as bench:
        await bench.clock.settle()

        assert calls == ["a", "b"]


async def test_an_object_that_cannot_be_transformed_is_kept_as_it_came() -> None:
    def broken(obj: KubeObject) -> KubeObject:
        raise ValueError("no")

    async with running(page(pod("a", 3), version=3), transform=broken) as bench:
        assert bench.taken() == ["a Replaced 3"]


# Alive or loud


async def test_a_silent_stream_is_found_reopened_and_counted() -> None:
    stream = Stream(modified("a", 8))
    async with running(page(version=7), stream, Stream(modified("a", 9))) as bench:
        await bench.clock.advance(89)
        before = len(bench.script.asked)
        await bench.clock.advance(2)

        assert before == 2
        assert bench.script.asked[2:] == [Asked("watch", "8")]
        assert stream.is_released
        assert bench.taken() == ["a Updated 8", "a Updated 9"]
        assert bench.reflector.statistics.requests_ended == {"silent": 1}


async def test_bookmarks_keep_a_quiet_stream_alive() -> None:
    stream = Stream()
    async with running(page(version=7), stream) as bench:
        for version in range(8, 12):
            await bench.clock.advance(60)
            stream.send(bookmark(version))
        await bench.clock.settle()

        assert len(bench.script.asked) == 2


async def test_a_server_that_never_answers_an_open_watch_or_a_list_is_asked_again() -> None:
    async with running(page(version=7)) as bench:
        await bench.clock.advance(91)

        assert bench.script.asked[1:] == [Asked("watch", "7"), Asked("watch", "7")]
    async with running() as bench:
        await bench.clock.advance(125)

        assert bench.script.asked == [Asked("list", "0", 500)] * 2


async def test_events_without_an_object_are_skipped_and_do_not_move_the_version() -> None:
    nameless = WatchEvent("MODIFIED", KubeObject.from_dict({"kind": "Table", "metadata": {}}))
    stream = Stream(nameless)
    async with running(page(version=7), stream) as bench:
        await bench.clock.advance(5)
        stream.close()
        await bench.clock.settle()

        assert bench.taken() == []
        assert bench.script.asked[-1] == Asked("watch", "7")


async def test_a_resource_that_is_not_served_yet_is_waited_for() -> None:
    async with running(UnknownResource("no widgets"), page(version=3)) as bench:
        await bench.clock.advance(2)

        assert bench.script.asked[-1] == Asked("watch", "3")
        assert "no widgets" in bench.reflector.statistics.last_failure
