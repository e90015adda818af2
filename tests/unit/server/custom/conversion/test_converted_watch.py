"""The stage between watch cache and watcher: in order, once for all, and loud when it fails."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Sequence
from typing import Any

from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from proreus.api.group_version import GroupVersionKind
from proreus.api.status import PlainError
from proreus.server.custom.conversion.converted_watch import (
    ConversionQueue,
    ConvertedFrames,
    ConvertedSink,
)
from proreus.server.custom.conversion.webhook import ConversionRefused
from proreus.server.resource import Names, Resource
from proreus.server.views import JsonView
from proreus.server.watch_cache.object import CachedObject
from proreus.server.watch_cache.phase import Live
from proreus.server.watch_cache.query import Selection
from proreus.server.watch_cache.subscriber import Subscriber
from proreus.server.watch_cache.view import Burst

VIEW = JsonView(Resource(names=Names.of("g", "v2", "X", "xs"), namespaced=True))
assert VIEW.gvk == GroupVersionKind("g", "v2", "X")


class Written:
    """A sink that keeps what it gets."""

    def __init__(self) -> None:
        self.bursts: list[Burst] = []
        self.is_closed = False

    def write(self, burst: Burst) -> None:
        self.bursts.append(burst)

    @property
    def buffered(self) -> int:
        return 0

    def close(self) -> None:
        self.is_closed = True

    @property
    def frames(self) -> list[bytes]:
        return [frame for burst in self.bursts for frame in burst.data]


class Converting:
    """Converts on demand; knows what it converted."""

    def __init__(self) -> None:
        self.batches: list[list[str]] = []
        self.kept: dict[tuple[str, int], CachedObject] = {}
        self.refuses: set[str] = set()
        self.is_down = False
        self._work: list[Coroutine[Any, Any, None]] = []
        self.feed = ConversionQueue(self._convert, self._work.append)

    def known(self, obj: CachedObject) -> CachedObject | None:
        return self.kept.get((obj.key, obj.revision))

    def run(self) -> None:
        """Everything that was asked for so far."""
        work, self._work[:] = list(self._work), []
        for one in work:
            asyncio.run(one)

    async def _convert(self, objects: Sequence[CachedObject]) -> list[CachedObject]:
        self.batches.append([obj.name for obj in objects])
        if self.is_down:
            raise PlainError("nobody answers")
        if any(obj.name in self.refuses for obj in objects):
            raise ConversionRefused("not this one")
        made = [replace(obj, item=obj.item.replace(b"old", b"new")) for obj in objects]
        self.kept |= {(obj.key, obj.revision): obj for obj in made}
        return made


def obj(name: str, revision: int = 1) -> CachedObject:
    item = b'{"metadata":{"resourceVersion":"%d","name":"%b"},"is":"old"}' % (
        revision,
        name.encode(),
    )
    return CachedObject(
        f"ns/{name}", revision, item, namespace="ns", name=name, labels={}, fields={}
    )


def watching(converting: Converting) -> tuple[Written, ConvertedSink, Subscriber]:
    written = Written()
    sink = ConvertedSink(written, VIEW)
    view = ConvertedFrames(VIEW, converting)
    subscriber = Subscriber(Selection(), view, sink, Live())
    sink.begin(subscriber)
    return written, sink, subscriber


def burst(converting: Converting, *objects: CachedObject) -> Burst:
    view = ConvertedFrames(VIEW, converting)
    return Burst(tuple(view.event("ADDED", one) for one in objects))


def names(written: Written) -> list[bytes]:
    return [frame.split(b'"name":"')[1].split(b'"')[0] for frame in written.frames]


def test_nothing_passes_before_it_is_converted_and_then_all_of_it_does() -> None:
    converting = Converting()
    written, sink, _ = watching(converting)

    sink.write(burst(converting, obj("a"), obj("b")))
    assert written.frames == []
    assert sink.buffered > 0
    converting.run()

    assert names(written) == [b"a", b"b"]
    assert all(b'"is":"new"' in frame for frame in written.frames)
    assert sink.buffered == 0
    assert converting.batches == [["a", "b"]]


def test_bookmarks_wait_behind_events() -> None:
    converting = Converting()
    written, sink, _ = watching(converting)
    mark = VIEW.bookmark(5, initial_events_end=False)

    sink.write(burst(converting, obj("a")))
    sink.write(Burst((mark,)))
    assert written.frames == []
    converting.run()

    assert len(written.frames) == 2
    assert written.frames[1] == mark


def test_all_watchers_of_a_view_share_what_is_written() -> None:
    converting = Converting()
    watchers = [watching(converting) for _ in range(3)]
    shared = burst(converting, obj("a"))

    for _, sink, _ in watchers:
        sink.write(shared)
    converting.run()

    first, *others = [written.bursts for written, _, _ in watchers]
    assert all(bursts[0] is first[0] for bursts in others)
    assert converting.batches == [["a"]]


def test_what_is_known_goes_straight_through() -> None:
    converting = Converting()
    written, sink, _ = watching(converting)
    sink.write(burst(converting, obj("a")))
    converting.run()

    known = burst(converting, obj("a"))
    sink.write(known)

    assert written.bursts[1] is known
    assert converting.batches == [["a"]]


def test_one_that_cannot_be_converted_ends_the_watch_after_those_before_it() -> None:
    converting = Converting()
    converting.refuses = {"b"}
    written, sink, subscriber = watching(converting)

    for name in ("a", "b", "c"):
        sink.write(burst(converting, obj(name)))
    converting.run()

    assert converting.batches == [["a", "b", "c"], ["a"], ["b"], ["c"]]
    assert subscriber.is_closed
    assert written.is_closed
    assert b'"name":"a"' in written.frames[0]
    assert b'"type":"ERROR"' in written.frames[1]
    assert b"not this one" in written.frames[1]
    assert len(written.frames) == 2


def test_a_webhook_that_does_not_answer_is_not_asked_for_each_object() -> None:
    converting = Converting()
    converting.is_down = True
    _, sink, subscriber = watching(converting)

    sink.write(burst(converting, obj("a"), obj("b")))
    converting.run()

    assert converting.batches == [["a", "b"]]
    assert subscriber.is_closed


def test_a_reader_that_left_is_written_nothing() -> None:
    converting = Converting()
    written, sink, subscriber = watching(converting)
    sink.write(burst(converting, obj("a")))

    subscriber.close()
    converting.run()

    assert written.frames == []
    assert sink.buffered == 0


Step = Callable[[Converting, ConvertedSink, int], None]


def _event(converting: Converting, sink: ConvertedSink, number: int) -> None:
    sink.write(burst(converting, obj(f"n{number % 5}", number)))


def _pair(converting: Converting, sink: ConvertedSink, number: int) -> None:
    sink.write(burst(converting, obj("p", number), obj("q", number)))


def _mark(converting: Converting, sink: ConvertedSink, number: int) -> None:
    sink.write(Burst((VIEW.bookmark(number, initial_events_end=False),)))


def _work(converting: Converting, sink: ConvertedSink, number: int) -> None:
    converting.run()


_FRAMES: dict[Step, int] = {_event: 1, _mark: 1, _pair: 2}


@given(st.lists(st.sampled_from([_event, _pair, _mark, _work]), max_size=30))
def test_frames_come_in_the_order_they_were_given(steps: list[Step]) -> None:
    converting = Converting()
    written, sink, _ = watching(converting)

    for number, step in enumerate(steps, start=1):
        step(converting, sink, number)
    converting.run()

    revisions = [
        int(frame.split(b'"resourceVersion":"')[1].split(b'"')[0]) for frame in written.frames
    ]
    wanted = [
        number for number, step in enumerate(steps, start=1) for _ in range(_FRAMES.get(step, 0))
    ]
    assert revisions == wanted
    assert sink.buffered == 0
