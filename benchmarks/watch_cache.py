"""What a change, a list and an object cost in the watch cache: CPU, without HTTP.

Deliveries are measured twice: to sinks that only count, which is the cache's own share, and to
transports on socket pairs whose other ends another process reads, which adds the kernel's.
"""

from __future__ import annotations

import asyncio
import ctypes
import gc
import os
import selectors
import socket
import tracemalloc
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

from benchmarks.report import CpuTimer, Row
from proreus.aio.clock import SystemClock
from proreus.aio.tasks import background
from proreus.api.selectors import FieldSelector, LabelSelector
from proreus.api.wire import json, splice
from proreus.net.http1.messages import chunk_of
from proreus.server.kinds import builtin_resources
from proreus.server.storage.interface import StoredValue
from proreus.server.storage.memory import MemoryStorage
from proreus.server.views.json_view import JsonView
from proreus.server.views.list_encodings import json_pieces
from proreus.server.watch_cache import query
from proreus.server.watch_cache.cache import WatchCache
from proreus.server.watch_cache.caches import WatchCaches
from proreus.server.watch_cache.object import SelectableAttributes
from proreus.server.watch_cache.query import ListQuery, Selection, WatchQuery
from proreus.server.watch_cache.view import Burst

PREFIX = "/registry/pods/"
WATCHERS = 500
NODES = 5_000
OBJECTS = 10_000
OBJECT_BYTES = 3_700
BURST = 20
_M_TRIM_THRESHOLD, _M_MMAP_MAX = -1, -4


def run() -> list[Row]:
    """Every question of this file."""
    return [*asyncio.run(_deliveries()), *asyncio.run(_lists()), asyncio.run(_memory())]


class CountingSink:
    """Takes a burst and forgets it."""

    __slots__ = ("bursts",)
    buffered = 0

    def __init__(self) -> None:
        self.bursts = 0

    def write(self, burst: Burst) -> None:
        self.bursts += 1

    def close(self) -> None:
        pass


class TransportSink:
    """A transport as the HTTP handler uses it."""

    __slots__ = ("_size", "_write", "transport")

    def __init__(self, transport: asyncio.WriteTransport) -> None:
        self.transport = transport
        self._write = transport.write
        self._size = transport.get_write_buffer_size

    def write(self, burst: Burst) -> None:
        self._write(burst.encoded(chunk_of))

    @property
    def buffered(self) -> int:
        return self._size()

    def close(self) -> None:
        self.transport.close()


class Bench:
    """A cache of pods over the memory storage."""

    def __init__(self, storage: MemoryStorage, caches: WatchCaches, cache: WatchCache) -> None:
        self.storage = storage
        self.caches = caches
        self.cache = cache
        self.view = JsonView(next(r for r in builtin_resources() if r.plural == "pods"))
        self._revisions: dict[str, int] = {}
        self._values: list[tuple[bytes, bytes]] = []

    async def create(self, count: int) -> None:
        for n in range(count):
            key = _key(n)
            self._values.append((_pod(n), _pod(n, 1)))
            self._revisions[key] = await self.storage.create(key, self._values[n][0])
        await self.caches.wait_for(max(self._revisions.values()))

    async def update(self, n: int, serial: int) -> int:
        key = _key(n)
        revision = await self.storage.update(
            key, self._values[n][serial % 2], expected=self._revisions[key]
        )
        self._revisions[key] = revision
        return revision

    async def change(self, changes: int, burst: int) -> float:
        """CPU seconds of ``changes`` writes in bursts, with everything they cause."""
        gc.collect()
        with CpuTimer() as timer:
            for at in range(0, changes, burst):
                for n in range(burst):
                    revision = await self.update((at + n) % len(self._revisions), at // burst)
                await self.caches.wait_for(revision)
                for _ in range(3):  # the flush, and the transports' own turn
                    await asyncio.sleep(0)
        return timer.cpu_s

    async def watch(self, sink: Any, selection: Selection | None = None) -> None:
        asked = WatchQuery(selection or Selection(), state=query.AnyState())
        await self.cache.watch(asked, self.view, sink)


@asynccontextmanager
async def _bench() -> AsyncIterator[Bench]:
    clock = SystemClock()
    async with MemoryStorage.open(clock) as storage:
        caches = WatchCaches(storage, clock)
        cache = caches.add(PREFIX, _read, "spec.nodeName")
        async with background(caches.run()):
            await caches.wait_ready()
            yield Bench(storage, caches, cache)


async def _deliveries() -> list[Row]:
    alone = await _cost_of_changes(lambda _: [])
    rows = []
    for burst, target in ((1, 4.0), (BURST, 1.0)):
        how = "one by one" if burst == 1 else f"in bursts of {burst}"
        counted = await _cost_of_changes(_counting, burst=burst)
        name = f"one change to {WATCHERS} watchers, {how}: CPU per delivery"
        rows.append(Row(f"{name}, own share", counted / WATCHERS * 1e6, "µs", target))
        sent = await _cost_over_sockets(burst)
        rows.append(Row(f"{name}, over sockets", sent / WATCHERS * 1e6, "µs", target))
    bare = await _cost_of_bare_writes() / WATCHERS * 1e6
    rows.append(Row(f"a bare transport.write of {OBJECT_BYTES} B: CPU", bare, "µs"))
    nodes = await _cost_of_changes(_per_node)
    rows.append(Row("one change, no watcher: CPU", alone * 1e6, "µs"))
    name = f"one change, {NODES} watchers on as many nodes: CPU over none"
    rows.append(Row(name, (nodes - alone) * 1e6, "µs", 60.0))
    return rows


def _counting(_: Bench) -> list[tuple[Any, Selection]]:
    return [(CountingSink(), Selection()) for _ in range(WATCHERS)]


def _per_node(_: Bench) -> list[tuple[Any, Selection]]:
    return [
        (CountingSink(), Selection(fields=FieldSelector.equal("spec.nodeName", f"node-{n}")))
        for n in range(NODES)
    ]


async def _cost_of_changes(
    watchers: Callable[[Bench], list[tuple[Any, Selection]]], *, burst: int = 1
) -> float:
    """CPU seconds per change, the best of several rounds: the machine may be shared."""
    async with _bench() as bench:
        await bench.create(200)
        for sink, selection in watchers(bench):
            await bench.watch(sink, selection)
        return min([await bench.change(400, burst) / 400 for _ in range(7)])


async def _cost_over_sockets(burst: int) -> float:
    async with _connected() as transports:
        sinks = [(TransportSink(transport), Selection()) for transport in transports]
        return await _cost_of_changes(lambda _: list(sinks), burst=burst)


async def _cost_of_bare_writes() -> float:
    """CPU seconds for writing one frame to every transport, with nothing around it."""
    frame, costs = bytes(OBJECT_BYTES), []
    async with _connected() as transports:
        for _ in range(100):
            with CpuTimer() as timer:
                for transport in transports:
                    transport.write(frame)
                await asyncio.sleep(0)
            costs.append(timer.cpu_s)
            await asyncio.sleep(0.002)
    return min(costs)


@asynccontextmanager
async def _connected() -> AsyncIterator[list[asyncio.Transport]]:
    """A transport per watcher; another process reads the other ends."""
    pairs = [socket.socketpair() for _ in range(WATCHERS)]
    reader = os.fork()
    if not reader:
        _read_all([pair[1] for pair in pairs], [pair[0] for pair in pairs])
    loop = asyncio.get_running_loop()
    transports: list[asyncio.Transport] = []
    for ours, theirs in pairs:
        theirs.close()
        transport, _ = await loop.create_connection(asyncio.Protocol, sock=ours)
        transports.append(transport)
    try:
        yield transports
    finally:
        for transport in transports:
            transport.close()
        await asyncio.sleep(0.01)
        os.waitpid(reader, 0)  # noqa: ASYNC222  # it has nothing left to read


def _read_all(sockets: list[socket.socket], others: list[socket.socket]) -> None:
    """The child: read until every writer is gone."""
    for other in others:
        other.close()
    selector = selectors.DefaultSelector()
    for one in sockets:
        selector.register(one, selectors.EVENT_READ)
    open_ones = len(sockets)
    while open_ones:
        for key, _ in selector.select():
            if not os.read(key.fd, 1 << 20):
                selector.unregister(key.fileobj)
                open_ones -= 1
    os._exit(0)


async def _lists() -> list[Row]:
    async with _bench() as bench:
        await bench.create(OBJECTS)
        past = bench.caches.revision
        await bench.change(1_000, 100)
        everything = ListQuery(state=query.AnyState())
        labels = LabelSelector.parse("app=app-7")
        one_percent = ListQuery(Selection(labels=labels), query.AnyState())
        one_node = ListQuery(Selection(fields=FieldSelector.equal("spec.nodeName", "node-7")))
        page = ListQuery(state=query.Exact(past), limit=500, start=f"ns-{3}/")

        async def list_bytes(asked: ListQuery) -> int:
            return len(b"".join(json_pieces(bench.view.parts(await bench.cache.list(asked)))))

        fresh = await _milliseconds(lambda: list_bytes(everything))
        _keep_freed_memory()
        name = f"LIST {OBJECTS} objects of {OBJECT_BYTES} B as one bytes object"
        return [
            Row(f"{name}, in memory new from the kernel", fresh, "ms"),
            Row(
                f"{name}, in memory used before",
                await _milliseconds(lambda: list_bytes(everything)),
                "ms",
                10.0,
            ),
            Row(
                f"LIST 1 % of {OBJECTS} by label",
                await _milliseconds(lambda: list_bytes(one_percent)),
                "ms",
                2.0,
            ),
            Row(
                f"LIST one node's pods of {OBJECTS}",
                await _milliseconds(lambda: list_bytes(one_node)),
                "ms",
            ),
            Row(
                "LIST a page of 500 at a revision with 1,000 later changes",
                await _milliseconds(lambda: list_bytes(page)),
                "ms",
                3.0,
            ),
        ]


def _keep_freed_memory() -> None:
    """Have the allocator keep large blocks: page faults cost more than all the copying."""
    libc = ctypes.CDLL(None)
    if hasattr(libc, "mallopt"):
        libc.mallopt(_M_MMAP_MAX, 0)
        libc.mallopt(_M_TRIM_THRESHOLD, 256 << 20)


async def _milliseconds(ask: Callable[[], Any]) -> float:
    costs = []
    for _ in range(15):
        with CpuTimer() as timer:
            await ask()
        costs.append(timer.cpu_s * 1e3)
    return min(costs)


async def _memory() -> Row:
    """Bytes per object beside the object's own; storage's share left out."""
    async with _bench() as bench:
        stored = [(_key(n), _pod(n)) for n in range(OBJECTS)]
        gc.collect()
        tracemalloc.start()
        before, _ = tracemalloc.get_traced_memory()
        objects = [
            bench.cache.read(StoredValue(key, value, 1_000_000 + n))
            for n, (key, value) in enumerate(sorted(stored))
        ]
        bench.cache.load(objects, 2_000_000)
        size = sum(len(obj.item) for obj in objects)
        del objects
        gc.collect()
        after, _ = tracemalloc.get_traced_memory()
        tracemalloc.stop()
    overhead = (after - before - size) / OBJECTS
    return Row("memory per object beside its bytes", overhead, "B", 700.0)


def _key(n: int) -> str:
    return f"{PREFIX}ns-{n % 10}/deployment-{n % 100}-7d4b9c{n:05d}"


def _pod(n: int, serial: int = 0) -> bytes:
    _, _, name = _key(n).rpartition("/")
    obj: dict[str, Any] = {
        "metadata": {
            "name": name,
            "namespace": f"ns-{n % 10}",
            "uid": f"{n:032x}",
            "labels": {"app": f"app-{n % 100}", "tier": "web", "pod-template-hash": "7d4b9c"},
        },
        "spec": {"nodeName": f"node-{n % NODES}", "restartPolicy": "Always", "serial": serial},
        "status": {"phase": "Running", "podIP": f"10.0.{n % 250}.{n // 250}"},
    }
    filler = OBJECT_BYTES - len(splice.stored_from_object(obj)) - 14
    obj["filler"] = "x" * filler
    return splice.stored_from_object(obj)


_PODS = next(r for r in builtin_resources() if r.plural == "pods")


def _read(item: bytes) -> SelectableAttributes:
    obj = json.decode(item)
    return SelectableAttributes(obj["metadata"].get("labels") or {}, _PODS.selectable.read(obj))
