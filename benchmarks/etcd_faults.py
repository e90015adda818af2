"""What writers and a watch notice when etcd is in trouble: three members, one at a time fails.

A write's time is from its first attempt to its acknowledgement, however often its outcome was
unknown between; an event's from that first attempt to its receipt. Nothing is lost meanwhile, which
``tests/faults/test_etcd_failover.py`` proves.
"""

from __future__ import annotations

import asyncio
import statistics
import time
from collections.abc import Awaitable, Callable

from benchmarks.report import Row
from proreus.aio.clock import SystemClock
from proreus.aio.tasks import background
from proreus.server.storage.etcd import EtcdConfig, EtcdStorage
from proreus.server.storage.interface import KeyExists, RevisionConflict, Unavailable
from tests.real_etcd import EtcdCluster, running_etcd

WRITERS = 10
PHASE_S = 6.0
_PLACE = "/registry/counters/"


class _Load:
    def __init__(self, storage: EtcdStorage) -> None:
        self._storage = storage
        self.writes_s: list[float] = []
        self.events_s: list[float] = []
        self.reached = 0

    async def write(self, writer: int) -> None:
        key, revision, begun = f"{_PLACE}{writer}", 0, time.monotonic()
        while True:
            value = b"%.6f" % begun + bytes(2_500)
            try:
                if revision:
                    revision = await self._storage.update(key, value, expected=revision)
                else:
                    revision = await self._storage.create(key, value)
            except Unavailable:
                continue
            except (KeyExists, RevisionConflict) as found:
                revision = found.current.revision if found.current is not None else 0
                if found.current is None or found.current.value != value:
                    continue  # ours was not written
            self.writes_s.append(time.monotonic() - begun)
            await asyncio.sleep(0.005)
            begun = time.monotonic()

    async def follow(self, after: int) -> None:
        while True:
            try:
                async with self._storage.watch(_PLACE, after=after) as batches:
                    async for batch in batches:
                        now = time.monotonic()
                        self.events_s += [
                            now - float(change.new.value.partition(b"\0")[0])
                            for change in batch.changes
                            if change.new is not None
                        ]
                        after = self.reached = batch.revision
            except Unavailable:
                continue

    def taken(self, what: str) -> list[Row]:
        rows = []
        for name, times_s in (("write", self.writes_s), ("event", self.events_s)):
            percentiles = statistics.quantiles(times_s, n=100)
            rows.append(Row(f"{what}: {name}, p50", percentiles[49] * 1e3, "ms"))
            rows.append(Row(f"{what}: {name}, p99", percentiles[98] * 1e3, "ms"))
            rows.append(Row(f"{what}: {name}, slowest", max(times_s) * 1e3, "ms"))
            times_s.clear()
        return rows


def run() -> list[Row]:
    return asyncio.run(_all())


async def _all() -> list[Row]:
    async with running_etcd(members=3, fsync=True) as cluster:
        config = EtcdConfig(cluster.endpoints)
        async with EtcdStorage.open(config, SystemClock()) as storage:
            load = _Load(storage)
            after = await storage.current_revision()
            writers = (load.write(writer) for writer in range(WRITERS))
            async with background(load.follow(after), *writers):
                return [
                    *await _phase(load, "nothing happens", lambda: asyncio.sleep(PHASE_S)),
                    *await _phase(load, "history is compacted", lambda: _compacting(load, storage)),
                    *await _phase(load, "the leader freezes for 3 s", lambda: _freezing(cluster)),
                    *await _phase(load, "the leader is killed", lambda: _killing(cluster)),
                ]


async def _phase(load: _Load, what: str, trouble: Callable[[], Awaitable[object]]) -> list[Row]:
    await trouble()
    rows = load.taken(what)
    await asyncio.sleep(1)
    return rows


async def _compacting(load: _Load, storage: EtcdStorage) -> None:
    for _ in range(12):
        await storage.compact(load.reached)
        await asyncio.sleep(PHASE_S / 12)


async def _killing(cluster: EtcdCluster) -> None:
    """Last of all: it does not come back, see ``EtcdCluster.kill``; the other two go on."""
    leader = await asyncio.to_thread(cluster.leader)
    cluster.kill(leader)
    await asyncio.sleep(PHASE_S)


async def _freezing(cluster: EtcdCluster) -> None:
    leader = await asyncio.to_thread(cluster.leader)
    cluster.pause(leader)
    await asyncio.sleep(PHASE_S / 2)
    cluster.resume(leader)
    await asyncio.sleep(PHASE_S / 2)
