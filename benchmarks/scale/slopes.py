"""Measures what one more of everything costs a server: an object, a connection, a write, an event.

One server and a few hundred hollow nodes. Each slope is the difference of two readings, with enough
between them that the kernel's grain (10 ms of CPU, a page of memory) does not matter. CPU is
that of the best round: others may use the machine.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from pathlib import Path

from benchmarks.api_server._load import thrown_away
from benchmarks.api_server._server import ServerProcess
from benchmarks.scale.hollow import Hollow, Used, used
from benchmarks.scale.model import Cluster, Slopes, Write, cached_mb

CLUSTER = Cluster(nodes=300, pods=6_000, pod_changes_per_s=0, followers=100)
_READERS = 5  # followers that read; the bytes of the others are thrown away
_WARM = 500
_ROUNDS = 5
_PACED_PER_S, _PACED_S = 50.0, 3.0
_BURST = 1_600  # of all rounds together less than a ring holds: everything is remembered
_LISTS = 6
_SETTLED_S = 2.0
_IDLE_S = 10.0


@dataclass(frozen=True, slots=True)
class Measured:
    """``grouped_ms`` is the CPU of a write where many wait at once and share commits."""

    slopes: Slopes
    grouped_ms: dict[str, float]


class SlopeMeasurement:
    def __init__(self, server: ServerProcess, folder: Path, hollow: Hollow) -> None:
        self._server, self._folder, self._hollow = server, folder, hollow

    async def all(self) -> Measured:
        hollow, cluster = self._hollow, CLUSTER
        await hollow.create_pods(0, _WARM)
        at_start = await self._settled()
        idle = (await self._during(asyncio.sleep(_IDLE_S))).per_s
        nodes = await self._during(hollow.create_nodes())
        pods = await self._during(hollow.create_pods(_WARM, cluster.pods))
        connecting = await self._during(hollow.connect())
        watch_connections = await hollow.connect_watches()
        watching = await self._during(hollow.watch(watch_connections))
        writes, grouped_ms = {}, {}
        for kind in ("lease", "status", "pod"):
            writes[kind], grouped_ms[kind] = await self._write(kind)
        delivery_us, event_b = await self._delivery(grouped_ms["pod"])
        # A change of a pod was delivered to its node.
        pod_change = replace(writes["pod"], cpu_ms=writes["pod"].cpu_ms - delivery_us / 1e3)
        list_s, list_b = await self._list()
        made = cluster.pods - _WARM
        pod_b, stored_b = pods.own_mb * 1e6 / made, pods.stored_mb * 1e6 / made
        slopes = Slopes(
            idle_mb=at_start.own_mb - _WARM * pod_b / 1e6,
            idle_cores=idle,
            idle_stored_mb=max(0.0, at_start.stored_mb - _WARM * stored_b / 1e6),
            pod_b=pod_b,
            node_b=nodes.own_mb * 1e6 / cluster.nodes,
            connection_b=connecting.own_mb * 1e6 / cluster.nodes,
            watch_b=watching.own_mb * 1e6 / len(watch_connections),
            handshake_ms=connecting.cpu_s * 1e3 / cluster.nodes,
            pod_change=pod_change,
            lease=writes["lease"],
            status=writes["status"],
            delivery_us=delivery_us,
            event_b=event_b,
            stored_pod_b=stored_b,
            stored_node_b=nodes.stored_mb * 1e6 / cluster.nodes,
            list_us_per_pod=list_s * 1e6 / cluster.pods,
            list_b_per_pod=list_b / cluster.pods,
        )
        return Measured(slopes, grouped_ms)

    async def _write(self, kind: str) -> tuple[Write, float]:
        """CPU of single writes, as they come from many nodes; memory and disk of many."""
        hollow, sent, paced = self._hollow, self._hollow.sent[kind], round(_PACED_PER_S * _PACED_S)
        alone_ms = await self._best_ms(lambda: hollow.paced(kind, _PACED_PER_S, _PACED_S), paced)
        before = await self._settled()
        grouped_ms = await self._best_ms(lambda: hollow.burst(kind, _BURST), _BURST)
        many, count = (await self._settled()).since(before), _BURST * _ROUNDS
        write = Write(
            cpu_ms=alone_ms,
            in_b=sent.in_b / sent.count,
            out_b=sent.out_b / sent.count,
            remembered_b=many.own_mb * 1e6 / count,
            stored_b=many.stored_mb * 1e6 / count,
        )
        return write, grouped_ms

    async def _delivery(self, alone_ms: float) -> tuple[float, float]:
        """What each of many followers adds to a change, and the bytes of its event."""
        hollow = self._hollow
        await hollow.follow(CLUSTER.followers)
        readers = hollow.followers[:_READERS]
        for reader in readers:
            reader.forget()
        async with thrown_away(hollow.followers[_READERS:]):
            followed_ms = await self._best_ms(lambda: hollow.burst("pod", _BURST), _BURST)
            await asyncio.sleep(_SETTLED_S)
        event_b = sum(reader.bytes for reader in readers) / sum(reader.lines for reader in readers)
        return max(0.0, followed_ms - alone_ms) / CLUSTER.followers * 1e3, event_b

    async def _list(self) -> tuple[float, float]:
        size = 0.0

        async def one() -> None:
            nonlocal size
            size = (await self._hollow.list_pods())[1]

        return await self._best_ms(one, 1, rounds=_LISTS) / 1e3, size

    async def _best_ms(
        self, work: Callable[[], Awaitable[None]], count: int, rounds: int = _ROUNDS
    ) -> float:
        """CPU of each of ``count``, in the best round."""
        costs = []
        for _ in range(rounds):
            before = self._server.cpu_s()
            await work()
            costs.append((self._server.cpu_s() - before) / count * 1e3)
        return min(costs)

    async def _settled(self) -> Reading:
        await asyncio.sleep(_SETTLED_S)
        return Reading.of(used(self._server, self._folder))

    async def _during(self, work: Awaitable[object]) -> Reading:
        before = Reading.of(used(self._server, self._folder))
        await work
        return (await self._settled()).since(before)


@dataclass(frozen=True, slots=True)
class Reading:
    """``own_mb`` is memory without the database's pages, which are bounded."""

    wall_s: float
    cpu_s: float
    own_mb: float
    stored_mb: float

    @classmethod
    def of(cls, read: Used) -> Reading:
        own_mb = read.resident_mb - cached_mb(read.stored_mb)
        return cls(read.wall_s, read.cpu_s, own_mb, read.stored_mb)

    @property
    def per_s(self) -> float:
        return self.cpu_s / self.wall_s

    def since(self, before: Reading) -> Reading:
        return Reading(
            self.wall_s - before.wall_s,
            self.cpu_s - before.cpu_s,
            self.own_mb - before.own_mb,
            self.stored_mb - before.stored_mb,
        )
