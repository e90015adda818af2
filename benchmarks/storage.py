"""How fast storage writes, reopens and tells changes, and what an object costs in memory.

SQLite runs in a temporary folder (``TMPDIR`` chooses the disk), etcd is the real one of the tests,
with fsync, on the same machine. CPU is this process's own, all threads.
"""

from __future__ import annotations

import asyncio
import gc
import os
import tempfile
import tracemalloc
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path

from benchmarks._peers import Peers, bare_etcd
from benchmarks.report import CpuTimer, Row
from proreus.aio.clock import SystemClock
from proreus.server.storage.etcd import EtcdConfig, EtcdStorage, messages
from proreus.server.storage.etcd.client import TXN
from proreus.server.storage.interface import Storage
from proreus.server.storage.memory import MemoryStorage
from proreus.server.storage.sqlite import SqliteStorage
from tests.real_etcd import running_etcd

VALUE = os.urandom(1_250).hex().encode()  # 2.5 kB, as a small pod has
PODS = "/registry/pods/"
LIVE = 100_000
ETCD_WRITES, ETCD_WRITERS = 15_000, 100
ETCD_CREATES = "etcd: create transactions of 2.5 kB, 100 in flight, one member"
ETCD_EVENTS = "etcd: watch events, live, transactions of 20 keys"
ETCD_REPLAYED = "etcd: watch events, replayed"
ETCD_KEYS = 20  # in a transaction: otherwise writing is slower than watching


def run() -> list[Row]:
    with (
        tempfile.TemporaryDirectory(prefix="proreus-bench-") as folder,
        asyncio.Runner(loop_factory=_loop_of_a_server()) as runner,
    ):
        rows = runner.run(_sqlite(Path(folder)))
        return rows + runner.run(_etcd())


def run_peers(peers: Peers) -> list[Row]:
    if peers.etcd is None:
        return []
    asked = bare_etcd.creates_and_events(VALUE, ETCD_WRITES, ETCD_WRITERS)
    return [
        replace(row, target=None, peer="a bare client") for row in _etcd_rows(*asyncio.run(asked))
    ]


def _loop_of_a_server() -> Callable[[], asyncio.AbstractEventLoop] | None:
    """As ``cli.event_loop`` chooses it; one writer waits for two wake-ups of it per write."""
    try:
        import uvloop
    except ImportError:
        return None
    loop: Callable[[], asyncio.AbstractEventLoop] = uvloop.new_event_loop
    return loop


async def _sqlite(folder: Path) -> list[Row]:
    clock = SystemClock()
    rows: list[Row] = []
    for writers, count, target in ((1, 3_000, 2_000), (100, 60_000, 20_000)):
        async with SqliteStorage.open(folder / f"{writers}.db", clock) as storage:
            for kind, is_update in (("creates", False), ("updates", True)):
                timer = await _write(storage, writers, count, is_update=is_update)
                name = f"sqlite: durable {kind} of 2.5 kB, {writers} writers, one watch"
                rate = count / timer.wall_s
                rows.append(Row(name, rate, "writes/s", target, higher_is_better=True))
                rows.append(Row(f"{name}: CPU of each", timer.cpu_s / count * 1e6, "µs"))
    rows += await _reopen(folder / "live.db")
    return rows


async def _write(storage: Storage, writers: int, count: int, *, is_update: bool) -> CpuTimer:
    each = count // writers

    async def write(writer: int) -> None:
        key = f"{PODS}updated/{writer}"
        revision = await storage.create(key, VALUE) if is_update else 0
        for number in range(each):
            if is_update:
                revision = await storage.update(key, VALUE, expected=revision)
            else:
                await storage.create(f"{PODS}{writer}/{number}", VALUE)

    after = await storage.current_revision()
    async with storage.watch(PODS, after=after) as watch, asyncio.TaskGroup() as group:

        async def follow() -> None:
            seen = 0
            while seen < count:
                seen += len((await anext(watch)).changes)

        with CpuTimer() as timer:
            following = group.create_task(follow())
            await asyncio.gather(*(write(writer) for writer in range(writers)))
            await following
    return timer


async def _reopen(path: Path) -> list[Row]:
    clock = SystemClock()
    async with SqliteStorage.open(path, clock) as storage:
        await _fill(storage)
    opening = SqliteStorage.open(path, clock)
    with CpuTimer() as timer:
        storage = await opening.__aenter__()
    with CpuTimer() as listing:
        await storage.list(PODS)
    await opening.__aexit__(None, None, None)
    async with traced() as used, SqliteStorage.open(path, clock):
        beside = used() / LIVE
    memory = await _memory_store()
    return [
        Row("sqlite: reopen 100,000 objects of 2.5 kB, checked", timer.wall_s, "s", 1.0),
        Row("sqlite: list them all", listing.wall_s, "s"),
        Row("sqlite: memory per live object beside its bytes (on disk)", beside, "bytes", 600),
        Row("memory: memory per live object beside its bytes", memory, "bytes", 600),
    ]


async def _fill(storage: Storage) -> None:
    async def write(writer: int) -> None:
        for number in range(LIVE // 200):
            await storage.create(f"{PODS}namespace-{writer}/some-pod-{number}-abcde", VALUE)

    await asyncio.gather(*(write(writer) for writer in range(200)))


async def _memory_store() -> float:
    """With history compacted: what is live, and no more."""
    count = LIVE // 10
    async with traced() as used, MemoryStorage.open(SystemClock()) as storage:
        for number in range(count):
            await storage.create(f"{PODS}namespace-{number % 50}/pod-{number}", bytes(2_500))
        await storage.compact(await storage.current_revision())
        return used() / count - 2_500


async def _etcd() -> list[Row]:
    async with running_etcd(fsync=True) as cluster:
        config = EtcdConfig(cluster.endpoints)
        async with EtcdStorage.open(config, SystemClock()) as storage:
            writes = await _write_only(storage, ETCD_WRITERS, ETCD_WRITES)
            rows = _etcd_rows(writes, await _replay(storage, ETCD_WRITES))
            live = await _live(storage, ETCD_WRITES)
    per_s, each_us = ETCD_WRITES / live.wall_s, live.cpu_s / ETCD_WRITES * 1e6
    return [
        *rows,
        Row(ETCD_EVENTS, per_s, "events/s", 15_000, higher_is_better=True),
        Row(f"{ETCD_EVENTS}: CPU of each, its write included", each_us, "µs"),
    ]


def _etcd_rows(writes: CpuTimer, events: CpuTimer) -> list[Row]:
    """What is replayed has no target: etcd sends a watch 1,000 revisions every 100 ms."""
    count = ETCD_WRITES
    return [
        Row(ETCD_CREATES, count / writes.wall_s, "writes/s", 8_500, higher_is_better=True),
        Row(f"{ETCD_CREATES}: CPU of each", writes.cpu_s / count * 1e6, "µs"),
        Row(ETCD_REPLAYED, count / events.wall_s, "events/s", higher_is_better=True),
        Row(f"{ETCD_REPLAYED}: CPU of each", events.cpu_s / count * 1e6, "µs"),
    ]


async def _live(storage: EtcdStorage, count: int) -> CpuTimer:
    """Keys that are written ten transactions at a time while one watch follows them."""
    transactions = iter(range(count // ETCD_KEYS))

    async def write() -> None:
        for number in transactions:
            request = messages.TxnRequest()
            for key in range(ETCD_KEYS):
                put = request.success.add().request_put
                put.key, put.value = f"{PODS}live/{number % 50}-{key}".encode(), VALUE
            await storage._client.call(TXN, request)

    async def follow() -> None:
        seen = 0
        while seen < count:
            seen += len((await anext(watch)).changes)

    async with storage.watch(PODS, after=await storage.current_revision()) as watch:
        with CpuTimer() as timer:
            await asyncio.gather(follow(), *(write() for _ in range(10)))
    return timer


async def _write_only(storage: Storage, writers: int, count: int) -> CpuTimer:
    async def write(writer: int) -> None:
        for number in range(count // writers):
            await storage.create(f"{PODS}{writer}/{number}", VALUE)

    await storage.create(PODS + "warm/up", VALUE)
    with CpuTimer() as timer:
        await asyncio.gather(*(write(writer) for writer in range(writers)))
    return timer


async def _replay(storage: Storage, count: int) -> CpuTimer:
    after = await storage.current_revision() - count
    async with storage.watch(PODS, after=after) as watch:
        with CpuTimer() as timer:
            seen = 0
            while seen < count:
                seen += len((await anext(watch)).changes)
    return timer


@asynccontextmanager
async def traced() -> AsyncIterator[Callable[[], int]]:
    """Bytes that Python objects made in the body take; SQLite's own 64 MB of pages are not."""
    gc.collect()
    tracemalloc.start()

    def used() -> int:
        gc.collect()
        return tracemalloc.get_traced_memory()[0]

    try:
        yield used
    finally:
        tracemalloc.stop()
