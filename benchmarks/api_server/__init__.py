"""The API server as its users meet it: a process of its own, sqlite, TLS, pods of 3.7 kB.

CPU is the server's, from the kernel, whatever the load costs beside it; rates share the machine
with the load. Updates are whole: their latency is from a writer's send to a watcher's receipt.
What is asked of a server under load is asked ROUNDS times and the middle answer counts: a disk that
holds up one commit for a second spoils one round, not the answer.
"""

from __future__ import annotations

import asyncio
import re
import statistics
import tempfile
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from benchmarks._peers import Peers
from benchmarks.api_server._load import (
    Connection,
    Target,
    body_of,
    closed_loop,
    each,
    thrown_away,
)
from benchmarks.api_server._server import ServerProcess, running_server
from benchmarks.report import Row, row_of
from proreus.api.wire import json
from proreus.cli.tuning import keep_small_buffers

PODS = 10_000
NODES = 500
WATCHERS = 500
READERS = 10  # watchers that read their events; the others only take them (``thrown_away``)
UPDATED = 200
ROUNDS = 5
CONNECTIONS = 32
UPDATERS = 8  # enough to keep the server at work; more would only wait in line, and be measured
_PODS_PATH = "/api/v1/namespaces/default/pods"
_ENV = 16
_REVISION = rb'"resourceVersion":"(\d+)",'


def run() -> list[Row]:
    keep_small_buffers()  # the load reads as the server does
    with tempfile.TemporaryDirectory() as name:
        folder, bytecode = Path(name) / "data", Path(name) / "bytecode"
        with running_server(Path(name) / "unused", bytecode):
            pass  # compiles every module
        with running_server(folder, bytecode) as server:
            rows = [
                Row("ready after the first start, empty store", server.ready_s, "s", 0.5),
                Row("CPU of that start, keys and certificates made", server.cpu_s(), "s"),
                Row("resident memory after it", _idle_mb(server), "MB"),
            ]
        with running_server(folder, bytecode) as server:
            return [*rows, *_asked(server)]


def run_peers(peers: Peers) -> list[Row]:
    """kube-apiserver, and ours on the same etcd; ``run`` has ours on SQLite."""
    if peers.kube_apiserver is None:
        return []
    from benchmarks._peers.kube_apiserver import running_kube_apiserver
    from tests.real_etcd import started_etcd

    keep_small_buffers()
    with (
        started_etcd(fsync=True) as etcd,
        running_kube_apiserver(peers.kube_apiserver, etcd.endpoints[0]) as server,
    ):
        theirs = _asked(server)
    with started_etcd(fsync=True) as etcd, tempfile.TemporaryDirectory() as name:
        folder, bytecode = Path(name) / "data", Path(name) / "bytecode"
        with running_server(folder, bytecode, "--etcd", etcd.endpoints[0]) as server:
            ours = _asked(server)
    return [
        replace(row, target=None, peer=peer)
        for peer, rows in (("kube-apiserver", theirs), ("proreus on etcd", ours))
        for row in rows
    ]


def _asked(server: ServerProcess) -> list[Row]:
    idle = Row("resident memory, idle", _idle_mb(server), "MB", 60)
    with asyncio.Runner(loop_factory=fast_loop()) as runner:
        return [idle, *runner.run(_Questions(server).all())]


def _idle_mb(server: ServerProcess) -> float:
    time.sleep(0.3)  # what a start leaves running belongs to no question
    return server.resident_mb()


def fast_loop() -> Callable[[], asyncio.AbstractEventLoop] | None:
    try:
        import uvloop
    except ImportError:
        return None
    loop: Callable[[], asyncio.AbstractEventLoop] = uvloop.new_event_loop
    return loop


def pod(number: int) -> bytes:
    """A pod that is 3.7 kB when it is served, with defaults and the owners of its fields."""
    env = [{"name": f"SETTING_{n}", "value": "x" * 20} for n in range(_ENV)]
    container = {
        "name": "main",
        "image": "registry.example.com/team/service:1.2.3",
        "env": env,
        "resources": {"limits": {"cpu": "1", "memory": "1Gi"}},
    }
    value: dict[str, Any] = {
        "kind": "Pod",
        "apiVersion": "v1",
        "metadata": {
            "name": f"web-{number:05}",
            "labels": {"app": "web", "slot": str(number % 100), "pod-template-hash": "5d89f7c6b"},
            "annotations": {"sent": "0"},
        },
        "spec": {"nodeName": f"node-{number % NODES}", "containers": [container]},
    }
    return json.encode(value)


@dataclass(frozen=True, slots=True)
class Spent:
    cpu_s: float
    wall_s: float
    count: int

    @property
    def each_ms(self) -> float:
        return self.cpu_s / self.count * 1e3

    @property
    def per_second(self) -> float:
        return self.count / self.wall_s


class _Questions:
    def __init__(self, server: ServerProcess) -> None:
        self._server = server
        self._target = Target(server.port, server.token)

    async def all(self) -> list[Row]:
        rows = await self._creates()
        rows.append(Row("resident memory, 10,000 pods", self._server.resident_mb(), "MB", 180))
        rows += await self._reads()
        rows += await self._deliveries()
        rows += await self._kubelets()
        return rows

    async def _spent(self, work: Awaitable[int]) -> Spent:
        cpu_s, begun = self._server.cpu_s(), time.monotonic()
        count = await work
        return Spent(self._server.cpu_s() - cpu_s, time.monotonic() - begun, count)

    async def _creates(self) -> list[Row]:
        bodies = [self._target.request("POST", _PODS_PATH, pod(n)) for n in range(PODS)]
        async with self._target.connections(CONNECTIONS) as connections:
            rounds = [
                await self._spent(each(connections, bodies[first::ROUNDS]))
                for first in range(ROUNDS)
            ]
        return [
            _rate_row("creates, 32 writers", rounds, 3_000),
            _cost_row("create, CPU", rounds, 0.35),
        ]

    async def _reads(self) -> list[Row]:
        def path(number: int) -> bytes:
            return self._target.request("GET", f"{_PODS_PATH}/web-{number % PODS:05}")

        async with self._target.connections(CONNECTIONS) as connections:
            size = len(await connections[0].ask(path(0)))
            rounds = [
                await self._spent(closed_loop(connections, 0.5, lambda c, n: c.ask(path(n))))
                for _ in range(ROUNDS)
            ]
        rows = [
            Row("a pod, with its head", size, "B"),
            _rate_row("GETs, 32 readers", rounds, 10_000),
            _cost_row("GET, CPU", rounds, 0.09),
        ]
        for question, query, count, target in (
            ("LIST of 10,000 pods, CPU", "", 8, 60),
            ("LIST of 1 % by label, CPU", "?labelSelector=slot%3D7", 100, 3),
            ("page of 500, CPU", "?limit=500", 100, 4),
        ):
            request = self._target.request("GET", _PODS_PATH + query)
            async with self._target.connections(1) as connections:
                spent = await self._spent(each(connections, [request] * count))
            rows.append(Row(question, spent.each_ms, "ms", target))
        return rows

    async def _updates(self, seconds: float) -> Spent:
        """What was read is sent back with another annotation, as fast as it is answered."""
        async with self._target.connections(UPDATERS) as connections:
            paths = [f"{_PODS_PATH}/web-{number:05}" for number in range(UPDATED)]
            found = [await connections[0].ask(self._target.request("GET", p)) for p in paths]
            halves = [around_sent(answer) for answer in found]

            def step(connection: Connection, number: int) -> Awaitable[bytes]:
                at = number % UPDATED
                before, after = halves[at]
                body = b"%b%d%b" % (before, time.monotonic_ns(), after)
                return connection.ask(self._target.request("PUT", paths[at], body))

            return await self._spent(closed_loop(connections, seconds, step))

    async def _deliveries(self) -> list[Row]:
        version = await self._version()
        path = f"{_PODS_PATH}?watch=true&resourceVersion={version}"
        async with self._target.connections(WATCHERS) as watchers:
            for watcher in watchers:
                await watcher.watch(self._target.request("GET", path))
            readers = watchers[:: WATCHERS // READERS]  # all over the line
            async with thrown_away([w for w in watchers if w not in readers]):
                rounds = [await self._delivered(watchers, readers) for _ in range(ROUNDS)]
        spent = [spent for spent, _ in rounds]
        each_us = [one.each_ms * 1e3 for one in spent]
        p50, p99 = (
            statistics.median(latencies[percent - 1] for _, latencies in rounds) * 1e3
            for percent in (50, 99)
        )
        return [
            _rate_row("deliveries to 500 watchers", spent, 300_000),
            row_of("delivery, CPU, updates included", each_us, "µs", 4),
            Row("delivery, p50 from send to receipt", p50, "ms"),
            Row("delivery, p99 from send to receipt", p99, "ms", 50),
        ]

    async def _delivered(
        self, watchers: list[Connection], readers: list[Connection]
    ) -> tuple[Spent, list[float]]:
        """What one round of updates cost, per event and watcher, and its latencies' percentiles."""
        for watcher in watchers:
            watcher.forget()
        spent = await self._updates(1.5)
        event_bytes = sum(w.bytes for w in readers) / sum(w.lines for w in readers)
        events = round(sum(w.bytes for w in watchers) / event_bytes)
        latencies_s = [latency_s for w in readers for latency_s in w.latencies_s]
        return Spent(spent.cpu_s, spent.wall_s, events), statistics.quantiles(latencies_s, n=100)

    async def _kubelets(self) -> list[Row]:
        version = await self._version()
        path = f"{_PODS_PATH}?watch=true&resourceVersion={version}&fieldSelector=spec.nodeName%3D"
        async with self._target.connections(WATCHERS) as watchers:
            for number, watcher in enumerate(watchers):
                await watcher.watch(self._target.request("GET", f"{path}node-{number}"))
            rounds = [await self._updates(0.7) for _ in range(ROUNDS)]
        return [_cost_row("update with 500 kubelet watchers, CPU", rounds, 0.5)]

    async def _version(self) -> str:
        async with self._target.connections(1) as (connection,):
            answer = await connection.ask(self._target.request("GET", f"{_PODS_PATH}?limit=1"))
        found = re.search(_REVISION, body_of(answer))
        assert found is not None
        return found[1].decode()


def _rate_row(question: str, rounds: list[Spent], target: float) -> Row:
    rates = [spent.per_second for spent in rounds]
    return row_of(question, rates, "/s", target, higher_is_better=True)


def _cost_row(question: str, rounds: list[Spent], target: float) -> Row:
    return row_of(question, [spent.each_ms for spent in rounds], "ms", target)


def around_sent(answer: bytes) -> tuple[bytes, bytes]:
    """A pod as its owner would write it anew, around the time of its sending.

    Without its revision, so that no update conflicts, and without the owners of its fields, which
    only the newest state has right.
    """
    value = json.decode(body_of(answer))
    del value["metadata"]["resourceVersion"], value["metadata"]["managedFields"]
    value["metadata"]["annotations"]["sent"] = "@"
    before, at, after = json.encode(value).partition(b"@")
    assert at and b"@" not in after
    return before, after
