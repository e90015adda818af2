"""What tests of the watch cache share: a cache over any storage, and watchers that remember.

``Cluster`` writes objects straight to storage. ``RecordingSink`` is a reader that can stop reading.
``LinesView`` writes each event as one JSON line, like the real views, but without a kind.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

from proreus.aio.gate import Gate
from proreus.aio.tasks import background
from proreus.api.selectors import FieldSelector, LabelSelector
from proreus.api.wire import splice
from proreus.server.storage.interface import ChangeBatch, Page, Storage, StorageError
from proreus.server.storage.memory import MemoryStorage
from proreus.server.watch_cache import query
from proreus.server.watch_cache.cache import WatchCache
from proreus.server.watch_cache.caches import WatchCaches
from proreus.server.watch_cache.object import CachedObject, SelectableAttributes
from proreus.server.watch_cache.query import Selection, WatchQuery
from proreus.server.watch_cache.subscriber import Subscriber
from proreus.server.watch_cache.view import Burst
from proreus.testing.virtual_clock import VirtualClock

PREFIX = "/registry/pods/"
NODE = "spec.nodeName"


def read_attributes(stored: bytes) -> SelectableAttributes:
    obj = json.loads(stored)
    fields = {NODE: obj.get("spec", {}).get("nodeName", "")}
    return SelectableAttributes(obj["metadata"].get("labels", {}), fields)


@dataclass(frozen=True)
class LinesView:
    """``name`` makes views different; equal names share frames. ``made`` counts frames made."""

    name: str = "lines"
    made: list[str] = field(default_factory=list, compare=False, hash=False)

    def event(self, event_type: str, obj: CachedObject) -> bytes:
        self.made.append(event_type)
        return b'{"type":"%b","object":{%b}\n' % (event_type.encode(), obj.item)

    def first_event(self, event_type: str, obj: CachedObject) -> bytes:
        return b'{"first":true,' + self.event(event_type, obj)[1:]

    def bookmark(self, revision: int, *, initial_events_end: bool) -> bytes:
        metadata: dict[str, Any] = {"resourceVersion": str(revision)}
        if initial_events_end:
            metadata["annotations"] = {"k8s.io/initial-events-end": "true"}
        line = json.dumps({"type": "BOOKMARK", "object": {"metadata": metadata}})
        return line.encode() + b"\n"

    def first_bookmark(self, revision: int, *, initial_events_end: bool) -> bytes:
        line = self.bookmark(revision, initial_events_end=initial_events_end)
        return b'{"first":true,' + line[1:]

    def error(self, status: Mapping[str, Any]) -> bytes:
        return json.dumps({"type": "ERROR", "object": dict(status)}).encode() + b"\n"


@dataclass(frozen=True)
class Event:
    """One received event. ``revision`` is what a client would resume from."""

    type: str
    object: Mapping[str, Any] = field(hash=False)
    is_first: bool = False

    @property
    def revision(self) -> int:
        return int(self.object["metadata"]["resourceVersion"])

    @property
    def key(self) -> str:
        metadata = self.object["metadata"]
        return "/".join(filter(None, (metadata.get("namespace", ""), metadata["name"])))

    @property
    def is_initial_end(self) -> bool:
        return "annotations" in self.object["metadata"] and self.type == "BOOKMARK"

    def __str__(self) -> str:
        if self.type == "ERROR":
            return f"ERROR {self.object['code']} {self.object['message']}"
        name = "" if self.type == "BOOKMARK" else f" {self.key}"
        end = " end" if self.is_initial_end else ""
        return f"{self.type}{name} {self.revision}{end}"


@lru_cache(10_000)
def _event_in(frame: bytes) -> Event:
    """Shared by all who received it."""
    read = json.loads(frame)
    return Event(read["type"], read["object"], read.get("first", False))


class RecordingSink:
    """Takes everything while ``is_reading``; else keeps it buffered, as a full socket does."""

    def __init__(self, *, is_reading: bool = True) -> None:
        self.is_reading = is_reading
        self.bursts: list[Burst] = []
        self.frames: list[bytes] = []
        self.waiting: list[bytes] = []
        self.is_closed = False

    def write(self, burst: Burst) -> None:
        assert not self.is_closed, "written after its end"
        self.bursts.append(burst)
        self.waiting += burst.data
        if self.is_reading:
            self.read()

    def read(self) -> None:
        """The reader takes what is buffered."""
        self.frames += self.waiting
        self.waiting = []

    @property
    def buffered(self) -> int:
        return sum(map(len, self.waiting))

    def close(self) -> None:
        assert not self.is_closed, "closed twice"
        self.is_closed = True


@dataclass
class Watch:
    """A watch and what its reader has seen."""

    subscriber: Subscriber
    sink: RecordingSink
    view: LinesView
    _events: list[Event] = field(default_factory=list)

    @property
    def events(self) -> list[Event]:
        self._events += map(_event_in, self.sink.frames[len(self._events) :])
        return self._events

    @property
    def lines(self) -> list[str]:
        """Every event as a short sentence."""
        return [str(event) for event in self.events]

    def is_closed(self) -> bool:
        return self.sink.is_closed


@dataclass
class Cluster:
    """One cache over one storage, on one virtual clock."""

    storage: Storage
    clock: VirtualClock
    caches: WatchCaches
    cache: WatchCache

    async def write(
        self, key: str, *, labels: Mapping[str, str] | None = None, node: str = "", n: int = 0
    ) -> int:
        """Create or replace an object; returns its revision."""
        return await put(self.storage, PREFIX, key, labels=labels, node=node, n=n)

    async def delete(self, key: str) -> int:
        return await remove(self.storage, PREFIX, key)

    async def settle(self) -> None:
        await self.clock.settle()

    async def reached(self, revision: int) -> None:
        """Wait until the cache has applied ``revision`` and watchers were written."""
        await self.caches.wait_for(revision)
        await self.clock.settle()

    async def watch(
        self,
        asked: WatchQuery | None = None,
        *,
        view: LinesView | None = None,
        sink: RecordingSink | None = None,
        cache: WatchCache | None = None,
    ) -> Watch:
        view, sink = view or LinesView(), sink or RecordingSink()
        asked = asked or WatchQuery(state=query.AnyState())
        subscriber = await (cache or self.cache).watch(asked, view, sink)
        return Watch(subscriber, sink, view)

    async def keys(self, asked: query.ListQuery | None = None) -> list[str]:
        listing = await self.cache.list(asked or query.ListQuery())
        return [obj.key for obj in listing.objects]


def selection(
    labels: str = "", fields: str = "", *, namespace: str = "", name: str = ""
) -> Selection:
    return Selection(namespace, name, LabelSelector.parse(labels), FieldSelector.parse(fields))


def from_start(*, bookmarks: bool = False, select: Selection | None = None) -> WatchQuery:
    """The initial state, then changes."""
    return WatchQuery(
        selection=select or Selection(),
        state=query.Latest(),
        send_initial=True,
        bookmarks=bookmarks,
        initial_events_end=bookmarks,
    )


def stored_object(
    key: str, *, labels: Mapping[str, str] | None = None, node: str = "", n: int = 0
) -> bytes:
    namespace, _, name = key.rpartition("/")
    metadata: dict[str, Any] = {"name": name}
    if namespace:
        metadata["namespace"] = namespace
    if labels:
        metadata["labels"] = dict(labels)
    return splice.stored_from_object({"metadata": metadata, "spec": {"nodeName": node, "n": n}})


async def put(
    storage: Storage,
    prefix: str,
    key: str,
    *,
    labels: Mapping[str, str] | None = None,
    node: str = "",
    n: int = 0,
) -> int:
    value = stored_object(key, labels=labels, node=node, n=n)
    current = await storage.get(prefix + key)
    if current is None:
        return await storage.create(prefix + key, value)
    return await storage.update(prefix + key, value, expected=current.revision)


async def remove(storage: Storage, prefix: str, key: str) -> int:
    current = await storage.get(prefix + key)
    assert current is not None, f"{key} is not there"
    return await storage.delete(prefix + key, expected=current.revision)


class InterruptibleStorage:
    """A storage whose stream of changes and lists can be broken or held up."""

    def __init__(self, storage: Storage) -> None:
        self._storage = storage
        self._lost: asyncio.Queue[StorageError] = asyncio.Queue()
        self._list_error: StorageError | None = None
        self._lists, self._changes = Gate(is_open=True), Gate(is_open=True)
        self.progress_requests = 0
        self.progress_error: StorageError | None = None
        self.is_broken = False

    def __getattr__(self, name: str) -> Any:
        return getattr(self._storage, name)

    def interrupt(self, error: StorageError) -> None:
        """The open stream of changes fails with ``error``; ``is_broken`` until there is another."""
        self.is_broken = True
        self._lost.put_nowait(error)

    def replace(self, storage: Storage) -> None:
        """From the next stream on another store answers."""
        self._storage = storage

    def fail_lists(self, error: StorageError | None) -> None:
        self._list_error = error

    def hold_lists(self) -> None:
        self._lists.shut()

    def release_lists(self) -> None:
        self._lists.open()

    def hold_changes(self) -> None:
        self._changes.shut()

    def release_changes(self) -> None:
        self._changes.open()

    async def list(self, prefix: str, **options: Any) -> Page:
        await self._lists.wait_open()
        if self._list_error is not None:
            raise self._list_error
        return await self._storage.list(prefix, **options)

    async def request_progress(self) -> None:
        self.progress_requests += 1
        if self.progress_error is not None:
            raise self.progress_error
        await self._storage.request_progress()

    @asynccontextmanager
    async def watch(
        self, prefix: str, *, after: int, with_old: bool = True
    ) -> AsyncIterator[AsyncIterator[ChangeBatch]]:
        async with self._storage.watch(prefix, after=after, with_old=with_old) as batches:
            self.is_broken = not self._lost.empty()
            yield self._until_lost(batches)

    async def _until_lost(self, batches: AsyncIterator[ChangeBatch]) -> AsyncIterator[ChangeBatch]:
        while True:
            if not self._lost.empty():
                raise self._lost.get_nowait()
            async with asyncio.TaskGroup() as group:
                coming = group.create_task(_next(batches))
                lost = group.create_task(self._lost.get())
                await asyncio.wait((coming, lost), return_when=asyncio.FIRST_COMPLETED)
                coming.cancel()
                lost.cancel()
            if lost.done() and not lost.cancelled():
                raise lost.result()
            await self._changes.wait_open()
            result = coming.result()
            if isinstance(result, StorageError):
                raise result
            yield result


async def _next(batches: AsyncIterator[ChangeBatch]) -> ChangeBatch | StorageError:
    """A failure is handed on as a value: raised in a TaskGroup it would come out wrapped."""
    try:
        return await anext(batches)
    except StorageError as error:
        return error


@asynccontextmanager
async def cluster_on(
    storage: Storage,
    clock: VirtualClock,
    *,
    buffered_max: int = 100_000,
    cached: bool = True,
    remembered: int = 0,
    recalls: bool = False,
) -> AsyncIterator[Cluster]:
    caches = WatchCaches(
        storage, clock, buffered_max=buffered_max, remembered=remembered, recalls=recalls
    )
    cache = caches.add(PREFIX, read_attributes, NODE, cached=cached)
    with contextlib.suppress(asyncio.CancelledError):
        async with background(caches.run()):
            await caches.wait_ready()
            yield Cluster(storage, clock, caches, cache)


@asynccontextmanager
async def cluster_on_memory(
    clock: VirtualClock, *, buffered_max: int = 100_000
) -> AsyncIterator[Cluster]:
    async with (
        MemoryStorage.open(clock) as storage,
        cluster_on(storage, clock, buffered_max=buffered_max) as cluster,
    ):
        yield cluster
