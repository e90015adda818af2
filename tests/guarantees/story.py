"""Random histories of a cluster: writers, watchers that stop, leave and come back, and accidents.

A story is a list of steps drawn by hypothesis, played on one storage with a virtual clock. It keeps
every stream a watcher had and, in ``model``, what was written, so that each promise can be checked
on what really happened.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field
from typing import assert_never

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from proreus.server.storage.interface import Compacted, Storage, Unavailable
from proreus.server.watch_cache.query import AnyState, Latest, ListQuery, WatchQuery
from proreus.testing.virtual_clock import VirtualClock
from tests.guarantees.model import SELECTIONS, Expected, Model, Select, Thing
from tests.watching import (
    PREFIX,
    Cluster,
    Event,
    InterruptibleStorage,
    RecordingSink,
    Watch,
    cluster_on,
    put,
    remove,
)

KEYS = [f"{namespace}/{name}" for namespace in ("a", "a-b", "b") for name in ("x", "y")]
LABELS = ["", "web", "db"]
NODES = ["", "n1", "n2"]
BUFFERED_MAX = 4_000


@dataclass(frozen=True)
class Store:
    """A kind of storage, and how many stories its speed allows."""

    name: str
    open: Callable[[VirtualClock], AbstractAsyncContextManager[Storage]]
    examples: int


@dataclass(frozen=True)
class Write:
    key: str
    label: str
    node: str


@dataclass(frozen=True)
class Delete:
    key: str


@dataclass(frozen=True)
class Burst:
    """Many writes to one object without a pause."""

    count: int


@dataclass(frozen=True)
class Elsewhere:
    """A write to another resource: the revision moves, nothing of ours changes."""


@dataclass(frozen=True)
class Open:
    """``start``: with the initial state, from now, or after the revision ``back`` writes ago."""

    select: int
    start: str
    back: int


@dataclass(frozen=True)
class StopReading:
    stream: int


@dataclass(frozen=True)
class GoOnReading:
    stream: int


@dataclass(frozen=True)
class Reconnect:
    stream: int


@dataclass(frozen=True)
class Compact:
    back: int


@dataclass(frozen=True)
class Pass:
    seconds: float


@dataclass(frozen=True)
class Settle:
    pass


@dataclass(frozen=True)
class Turns:
    """A few turns of the loop: somewhere in the middle of what the writes before have caused."""

    count: int


@dataclass(frozen=True)
class LoseStream:
    """Storage's stream breaks; ``for_good``: what follows is gone too, so all is listed anew."""

    for_good: bool


Step = (
    Write | Delete | Burst | Elsewhere | Open | StopReading | GoOnReading | Reconnect | Compact
    | Pass | Settle | Turns | LoseStream
)  # fmt: skip

_stream = st.integers(0, 20)
_back = st.one_of(st.integers(0, 20), st.integers(0, 200))
_write = st.builds(Write, st.sampled_from(KEYS), st.sampled_from(LABELS), st.sampled_from(NODES))
_turns = st.builds(Turns, st.integers(1, 8))
_select = st.one_of(st.just(0), st.integers(0, len(SELECTIONS) - 1))
_open = st.builds(Open, _select, st.sampled_from(["initial", "now", "past"]), _back)
_step = st.one_of(
    _write,
    _turns,
    st.builds(Delete, st.sampled_from(KEYS)),
    st.builds(Burst, st.integers(1, 130)),
    st.just(Elsewhere()),
    _open,
    st.builds(StopReading, _stream),
    st.builds(GoOnReading, _stream),
    st.builds(Reconnect, _stream),
    st.builds(Compact, _back),
    st.builds(Pass, st.sampled_from([0.05, 0.2, 30.0, 61.0, 100.0])),
    st.just(Settle()),
    st.builds(LoseStream, st.booleans()),
)
# What chance alone puts together too seldom.
_joins_in_the_middle = st.tuples(_open, _write, _turns, _open, _write, _turns)
_falls_behind_and_catches_up = st.tuples(
    st.just(Open(0, "now", 0)),
    st.just(StopReading(-1)),
    st.builds(Burst, st.integers(30, 60)),
    _turns,
    st.sampled_from([Settle(), Turns(3), Pass(0.05), Pass(0.2)]),
    _write,
    st.just(GoOnReading(-1)),
    _write,
)
_replays_much = st.tuples(
    st.builds(Burst, st.integers(100, 130)),
    st.builds(Open, st.just(0), st.just("past"), st.integers(90, 130)),
    st.sampled_from([StopReading(-1), Turns(1), Reconnect(-1)]),
    st.sampled_from([Pass(61.0), Turns(2), Burst(120)]),
    st.sampled_from([GoOnReading(-1), Reconnect(-1), Settle()]),
)
_scene = st.one_of(
    st.tuples(_step),
    st.tuples(_step),
    st.tuples(_step),
    st.tuples(_step),
    _joins_in_the_middle,
    _falls_behind_and_catches_up,
    _replays_much,
)
stories = st.lists(_scene, min_size=4, max_size=16).map(
    lambda scenes: [step for scene in scenes for step in scene]
)


@dataclass
class Stream:
    """One watch from its start to its end, as its reader saw it."""

    select: Select
    watch: Watch
    after: int | None  # None: it began with the initial state
    window_from: int  # the oldest revision a watch could start from when it was opened
    has_stopped: bool = False  # at any time
    left: bool = False  # closed by its reader
    resumes: Stream | None = None

    @property
    def events(self) -> list[Event]:
        return self.watch.events

    @property
    def error(self) -> Event | None:
        return next((event for event in self.events if event.type == "ERROR"), None)

    @property
    def initial(self) -> list[Event]:
        """Events of the initial state."""
        return self.events[: self._initial_count()]

    @property
    def began_after(self) -> int | None:
        """The revision whose later changes this stream owes; None if not known yet."""
        if self.after is not None:
            return self.after
        mark = next((event for event in self.events if event.is_initial_end), None)
        return None if mark is None else mark.revision

    @property
    def later(self) -> list[Event]:
        """Events after the initial state, bookmarks included."""
        return [e for e in self.events[self._initial_count() :] if e.type != "ERROR"]

    @property
    def changes(self) -> list[Expected]:
        """The changes it received."""
        return [Expected(e.type, e.key, e.revision) for e in self.later if e.type != "BOOKMARK"]

    @property
    def last_revision(self) -> int | None:
        """Where its reader would resume; None: from the start."""
        return self.later[-1].revision if self.later else self.began_after

    def rebuilt(self) -> dict[str, int]:
        """The objects its reader believes in, by key, with their revisions."""
        objects = {event.key: event.revision for event in self.initial}
        for event in self.later:
            if event.type == "DELETED":
                del objects[event.key]
            elif event.type != "BOOKMARK":
                objects[event.key] = event.revision
        return objects

    def _initial_count(self) -> int:
        if self.after is not None:
            return 0
        events = self.events
        return next((i for i, e in enumerate(events) if e.is_initial_end), len(events))

    def __repr__(self) -> str:
        start = "the start" if self.after is None else f"after {self.after}"
        return f"<Stream of {self.select.asked} from {start}: {self.watch.lines}>"


@dataclass
class Story:
    """What happened. ``current`` is the revision at the end."""

    cluster: Cluster
    storage: InterruptibleStorage
    model: Model
    streams: list[Stream] = field(default_factory=list)
    current: int = 0
    listed: dict[int, list[str]] = field(default_factory=dict)

    async def play(self, step: Step) -> None:
        match step:
            case Write(key=key, label=label, node=node):
                await self._write(key, label, node)
            case Delete(key=key):
                if await self.storage.get(PREFIX + key) is not None:
                    self._note(await remove(self.storage, PREFIX, key), key, None)
            case Burst(count=count):
                for n in range(count):
                    await self._write("a/x", LABELS[n % 3], NODES[n % 2])
            case Elsewhere():
                self.current = await put(self.storage, "/registry/elsewhere/", "a/x")
            case Open(select=select, start=start, back=back):
                await self._open(SELECTIONS[select], start, back)
            case StopReading(stream=at) if self.streams:
                stream = self._stream(at)
                stream.has_stopped, stream.watch.sink.is_reading = True, False
            case GoOnReading(stream=at) if self.streams:
                self._go_on(self._stream(at))
            case Reconnect(stream=at) if self.streams:
                await self._reconnect(self._stream(at))
            case Compact(back=back):
                await self._settle()
                await self.storage.compact(max(1, self.current - back))
            case Pass(seconds=seconds):
                await self._settle()
                await self.cluster.clock.advance(seconds)
            case Settle():
                await self._settle()
            case Turns(count=count):
                for _ in range(count):
                    await asyncio.sleep(0)
            case LoseStream(for_good=for_good):
                gone = Compacted(1, 2) if for_good else Unavailable("lost")
                self.storage.interrupt(gone)
                await self.cluster.settle()
            case StopReading() | GoOnReading() | Reconnect():
                pass  # nobody watches yet
            case other:
                assert_never(other)

    async def end(self) -> None:
        """Everybody reads to the end; what the cache lists then is kept too."""
        for _ in range(12):
            for stream in self.streams:
                self._go_on(stream)
            await self.cluster.clock.advance(0.3)
            await self._settle()
        for number, select in enumerate(SELECTIONS):
            listing = await self.cluster.cache.list(ListQuery(select.asked, Latest()))
            self.listed[number] = [f"{obj.key} {obj.revision}" for obj in listing.objects]

    async def _write(self, key: str, label: str, node: str) -> None:
        revision = await put(
            self.storage, PREFIX, key, labels={"tier": label} if label else None, node=node
        )
        self._note(revision, key, Thing(key, label, node, revision))

    def _note(self, revision: int, key: str, thing: Thing | None) -> None:
        self.current = revision
        self.model.note(revision, key, thing)

    async def _open(self, select: Select, start: str, back: int) -> None:
        await self._ready()
        if start == "initial":
            await self._watch(select, None)
        elif start == "now":
            await self._watch(select, self.current)
        else:
            await self._watch(select, max(1, self.current - back))

    async def _reconnect(self, stream: Stream) -> None:
        await self._ready()
        stream.left = stream.left or not stream.watch.is_closed()
        stream.watch.subscriber.close()
        stream.watch.sink.waiting.clear()  # lost with the connection
        after = None if stream.error else stream.last_revision
        again = await self._watch(stream.select, after)
        again.resumes = None if after is None else stream

    async def _watch(self, select: Select, after: int | None) -> Stream:
        asked = WatchQuery(
            select.asked,
            after=after,
            state=AnyState(),
            send_initial=after is None,
            bookmarks=True,
            initial_events_end=True,
        )
        watch = await self.cluster.watch(asked, sink=RecordingSink())
        stream = Stream(select, watch, after, self.cluster.cache.complete_after)
        self.streams.append(stream)
        return stream

    def _go_on(self, stream: Stream) -> None:
        stream.watch.sink.is_reading = True
        stream.watch.sink.read()

    async def _settle(self) -> None:
        while not self.cluster.cache.is_ready or self.cluster.caches.revision < self.current:
            await self._mended()
        await self.cluster.settle()

    async def _ready(self) -> None:
        while not self.cluster.cache.is_ready:
            await self._mended()

    async def _mended(self) -> None:
        """Let a broken stream be resumed: that takes the clock's time, and storage's."""
        await self.cluster.clock.settle()
        if self.storage.is_broken:
            await self.cluster.clock.advance(0.2)
        await asyncio.sleep(0.0005)

    def expectations(self) -> Iterator[tuple[Stream, list[Expected]]]:
        """The streams that were not refused, each with all that it should receive to the end."""
        for stream in self.streams:
            if stream.began_after is not None and not stream.error:
                yield stream, list(self.model.events(stream.began_after, stream.select.wants))

    def _stream(self, at: int) -> Stream:
        return self.streams[at % len(self.streams)]


async def played(steps: Sequence[Step], store: Store) -> Story:
    """Play the steps to the end."""
    clock = VirtualClock()
    async with store.open(clock) as opened:
        storage = InterruptibleStorage(opened)
        async with cluster_on(storage, clock, buffered_max=BUFFERED_MAX) as cluster:
            story = Story(cluster, storage, Model(), current=cluster.caches.revision)
            for step in steps:
                await story.play(step)
            await story.end()
            return story
    raise AssertionError("the story has an end")


# A run that says the same twice plays every promise the same stories: once is enough.
_PLAYED: dict[tuple[str, tuple[Step, ...]], Story] = {}
_PLAYED_MAX = 100


def _played_once(steps: Sequence[Step], store: Store) -> Story:
    told = (store.name, tuple(steps))
    if told not in _PLAYED:
        if len(_PLAYED) >= _PLAYED_MAX:
            del _PLAYED[next(iter(_PLAYED))]
        _PLAYED[told] = asyncio.run(played(steps, store))
    return _PLAYED[told]


def for_all_stories(
    store: Store, check: Callable[[Story], None], *, ending: Sequence[Step] = ()
) -> None:
    """Play random stories on the store and check what happened in each; a check changes nothing."""

    @settings(max_examples=store.examples, deadline=None, suppress_health_check=list(HealthCheck))
    @given(steps=stories)
    def tried(steps: list[Step]) -> None:
        check(_played_once([*steps, *ending], store))

    tried()
