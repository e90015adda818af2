"""The API server on etcd, asked as ``api_server`` asks it on SQLite: one member, fsync, TLS.

A change is followed from its send to the kubelet that watches for it: at a steady 250 updates a
second, where nothing is at its limit, and at a thousand. Where the server cannot keep up with these
its 16 writers wait for it, and a change is as late as 16 divided by the rate that it reaches. etcd
runs on the same machine, and takes as much of it as the server does. A kube-apiserver whose binary
is given is asked the same, on an etcd of its own.
"""

from __future__ import annotations

import asyncio
import statistics
import tempfile
import time
from dataclasses import dataclass, replace
from pathlib import Path

from benchmarks._peers import Peers
from benchmarks._peers.kube_apiserver import running_kube_apiserver
from benchmarks.api_server import NODES, Spent, around_sent, fast_loop, pod
from benchmarks.api_server._load import Connection, Target, closed_loop, each
from benchmarks.api_server._server import ServerProcess, running_server
from benchmarks.report import Row
from proreus.cli.tuning import keep_small_buffers
from tests.real_etcd import started_etcd

PODS = 5_000
UPDATED = 400
FEW_PER_S, UPDATES_PER_S = 250, 1_000
UPDATES_S = 3.0
UPDATERS = 16
CONNECTIONS = 32
ROUNDS = 5
_PODS_PATH = "/api/v1/namespaces/default/pods"


def run() -> list[Row]:
    keep_small_buffers()
    with tempfile.TemporaryDirectory() as name:
        bytecode = Path(name) / "bytecode"
        with running_server(Path(name) / "unused", bytecode):
            pass  # compiles every module
        with (
            started_etcd(fsync=True) as etcd,
            running_server(Path(name) / "data", bytecode, "--etcd", etcd.endpoints[0]) as server,
        ):
            return _asked(server)


def run_peers(peers: Peers) -> list[Row]:
    if peers.kube_apiserver is None:
        return []
    with (
        started_etcd(fsync=True) as etcd,
        running_kube_apiserver(peers.kube_apiserver, etcd.endpoints[0]) as server,
    ):
        return [replace(row, target=None, peer="kube-apiserver") for row in _asked(server)]


def _asked(server: ServerProcess) -> list[Row]:
    with asyncio.Runner(loop_factory=fast_loop()) as runner:
        return runner.run(_all(server))


async def _all(server: ServerProcess) -> list[Row]:
    target = Target(server.port, server.token)
    return [
        *await _creates(server, target),
        *await _gets(server, target),
        *await _deliveries(server, target),
    ]


async def _creates(server: ServerProcess, target: Target) -> list[Row]:
    bodies = [target.request("POST", _PODS_PATH, pod(number)) for number in range(PODS)]
    rounds = []
    async with target.connections(CONNECTIONS) as connections:
        for first in range(ROUNDS):
            cpu_s, begun = server.cpu_s(), time.monotonic()
            count = await each(connections, bodies[first::ROUNDS])
            rounds.append(Spent(server.cpu_s() - cpu_s, time.monotonic() - begun, count))
    rate = statistics.median(spent.per_second for spent in rounds)
    each_ms = statistics.median(spent.each_ms for spent in rounds)
    return [
        Row("creates, 32 writers", rate, "/s", 2_200, higher_is_better=True),
        Row("create, CPU", each_ms, "ms", 0.45),
    ]


async def _gets(server: ServerProcess, target: Target) -> list[Row]:
    def request(number: int) -> bytes:
        return target.request("GET", f"{_PODS_PATH}/web-{number % PODS:05}")

    rounds = []
    async with target.connections(CONNECTIONS) as connections:
        for _ in range(ROUNDS):
            cpu_s, begun = server.cpu_s(), time.monotonic()
            count = await closed_loop(connections, 0.5, lambda c, n: c.ask(request(n)))
            rounds.append(Spent(server.cpu_s() - cpu_s, time.monotonic() - begun, count))
    rate = statistics.median(spent.per_second for spent in rounds)
    each_ms = statistics.median(spent.each_ms for spent in rounds)
    return [
        Row("GETs, 32 readers", rate, "/s"),
        Row("GET, CPU", each_ms, "ms", 0.08),
    ]


async def _deliveries(server: ServerProcess, target: Target) -> list[Row]:
    """Every kubelet watches the pods of its node."""
    path = f"{_PODS_PATH}?watch=true&fieldSelector=spec.nodeName%3D"
    async with target.connections(NODES) as kubelets, target.connections(UPDATERS) as writers:
        for number, kubelet in enumerate(kubelets):
            await kubelet.watch(target.request("GET", f"{path}node-{number}"))
        few = await _delivered(server, target, writers, kubelets, FEW_PER_S)
        many = await _delivered(server, target, writers, kubelets, UPDATES_PER_S)
    spent, percentiles = many.spent, statistics.quantiles(many.latencies_s, n=100)
    few_p50_ms = statistics.median(few.latencies_s) * 1e3
    return [
        Row("a change at its kubelet at 250 updates/s, p50 from its send", few_p50_ms, "ms"),
        Row("updates with 500 kubelet watchers", spent.per_second, "/s"),
        Row("update with 500 kubelet watchers, CPU", spent.each_ms, "ms"),
        Row("a change at its kubelet, p50 from its send", percentiles[49] * 1e3, "ms", 8),
        Row("a change at its kubelet, p99 from its send", percentiles[98] * 1e3, "ms"),
    ]


@dataclass(frozen=True, slots=True)
class _Delivered:
    spent: Spent
    latencies_s: list[float]


async def _delivered(
    server: ServerProcess,
    target: Target,
    writers: list[Connection],
    kubelets: list[Connection],
    per_s: int,
) -> _Delivered:
    updates = await _Updates.read(target, writers[0], per_s)
    for kubelet in kubelets:
        kubelet.forget()  # what came before
    cpu_s, begun = server.cpu_s(), time.monotonic()
    await asyncio.gather(
        *(updates.keep_sending(writer, number) for number, writer in enumerate(writers))
    )
    spent = Spent(server.cpu_s() - cpu_s, time.monotonic() - begun, updates.sent)
    for _ in range(3_000):
        if sum(len(kubelet.latencies_s) for kubelet in kubelets) >= updates.sent:
            break
        await asyncio.sleep(0.01)
    return _Delivered(spent, [late for kubelet in kubelets for late in kubelet.latencies_s])


class _Updates:
    def __init__(self, target: Target, halves: list[tuple[bytes, bytes]], per_s: int) -> None:
        self._per_s = per_s
        self._target = target
        self._halves = halves
        self.sent = 0

    @classmethod
    async def read(cls, target: Target, connection: Connection, per_s: int) -> _Updates:
        requests = [target.request("GET", f"{_PODS_PATH}/web-{n:05}") for n in range(UPDATED)]
        halves = [around_sent(await connection.ask(request)) for request in requests]
        return cls(target, halves, per_s)

    async def keep_sending(self, connection: Connection, writer: int) -> None:
        """One of the writers: its share of the updates, at even times, of pods of its own."""
        pause_s = UPDATERS / self._per_s
        begun = time.monotonic() + writer / self._per_s
        for step in range(round(UPDATES_S / pause_s)):
            wait_s = begun + step * pause_s - time.monotonic()
            if wait_s > 0:
                await asyncio.sleep(wait_s)
            number = (writer + step * UPDATERS) % UPDATED
            before, after = self._halves[number]
            body = b"%b%d%b" % (before, time.monotonic_ns(), after)
            path = f"{_PODS_PATH}/web-{number:05}"
            await connection.ask(self._target.request("PUT", path, body))
            self.sent += 1
