"""``server --workers 2`` beside one process, on one etcd: what two cores would serve.

The load and etcd share the machine's cores with the servers, so that rates here say little of two
cores that are the servers' own. What counts is the CPU of the busiest worker for the same work: a
server is full when one of its workers is. Rates are there to be seen.
"""

from __future__ import annotations

import asyncio
import tempfile
import time
from collections.abc import AsyncIterator, Awaitable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from benchmarks import _process
from benchmarks.api_server import pod
from benchmarks.api_server._load import Connection, Target, closed_loop, each, thrown_away
from benchmarks.api_server._server import ServerProcess, running_server
from benchmarks.report import Row
from proreus.cli.tuning import keep_small_buffers
from tests.real_etcd import started_etcd

PODS = 1_000
CONNECTIONS = 48  # for each process; the kernel spreads them by chance: of few, one would have most
WATCHERS = 200
SECONDS = 3.0
LISTS = 150
WRITERS = 4
_PATH = "/api/v1/namespaces/default/pods"
_GOAL = 1.7


@dataclass(frozen=True, slots=True)
class Served:
    """So many answers or events, and what they cost the worker that had most to do."""

    count: int
    busiest_s: float
    all_s: float
    wall_s: float

    @property
    def per_core_s(self) -> float:
        """What the server would do in a second in which its busiest worker has a core."""
        return self.count / self.busiest_s


def run() -> list[Row]:
    keep_small_buffers()
    one, two = _measured(1), _measured(2)
    rows = []
    for work in one:
        alone, shared = one[work], two[work]
        name = f"{work}, two workers beside one"
        ratio = shared.per_core_s / alone.per_core_s
        rows += [
            Row(name, ratio, "×", _GOAL, higher_is_better=True),
            Row(f"{work}, CPU of one process", alone.all_s / alone.count * 1e6, "µs"),
            Row(f"{work}, CPU of two workers", shared.all_s / shared.count * 1e6, "µs"),
            Row(f"{work}, rate of one process", alone.count / alone.wall_s, "/s"),
            Row(f"{work}, rate of two workers", shared.count / shared.wall_s, "/s"),
        ]
    return rows


def _measured(workers: int) -> dict[str, Served]:
    with started_etcd() as etcd, tempfile.TemporaryDirectory() as name:
        folder, bytecode = Path(name) / "data", Path(name) / "bytecode"
        flags = ("--etcd", etcd.endpoints[0], "--workers", str(workers))
        with running_server(folder, bytecode, *flags) as server:
            return asyncio.run(_Asked(server).all())


class _Asked:
    def __init__(self, server: ServerProcess) -> None:
        self._target = Target(server.port, server.token)
        owner = server.pid
        children = Path(f"/proc/{owner}/task/{owner}/children").read_text().split()
        self._pids = [int(pid) for pid in children] or [owner]
        self._connections = CONNECTIONS * len(self._pids)

    async def all(self) -> dict[str, Served]:
        bodies = [self._target.request("POST", _PATH, pod(number)) for number in range(PODS)]
        async with self._target.connections(self._connections) as connections:
            await each(connections, bodies)
            return {
                "GET": await self._served(self._gets(connections)),
                "LIST of 1,000 pods": await self._served(self._lists(connections)),
                "event to a watcher": await self._delivered(),
            }

    async def _served(self, work: Awaitable[int]) -> Served:
        before, begun = self._cpu_s(), time.monotonic()
        count = await work
        wall_s = time.monotonic() - begun
        spent = [now - then for now, then in zip(self._cpu_s(), before, strict=True)]
        return Served(count, max(spent), sum(spent), wall_s)

    def _cpu_s(self) -> list[float]:
        return [_process.cpu_s(pid) for pid in self._pids]

    async def _gets(self, connections: list[Connection]) -> int:
        paths = [self._target.request("GET", f"{_PATH}/web-{number:05}") for number in range(PODS)]
        return await closed_loop(connections, SECONDS, lambda c, n: c.ask(paths[n % PODS]))

    async def _lists(self, connections: list[Connection]) -> int:
        return await each(connections, [self._target.request("GET", _PATH)] * LISTS)

    async def _delivered(self) -> Served:
        async with self._target.connections(WRITERS) as writers, self._watchers() as watchers:
            served = await self._served(self._changes(writers))
            readers = [watcher for watcher in watchers if watcher.lines]
            event_bytes = sum(one.bytes for one in readers) / sum(one.lines for one in readers)
            events = round(sum(one.bytes for one in watchers) / event_bytes)
        return Served(events, served.busiest_s, served.all_s, served.wall_s)

    @asynccontextmanager
    async def _watchers(self) -> AsyncIterator[list[Connection]]:
        async with self._target.connections(WATCHERS) as watchers:
            for watcher in watchers:
                await watcher.watch(self._target.request("GET", f"{_PATH}?watch=true"))
            await asyncio.sleep(1)  # the events of the beginning
            for watcher in watchers:
                watcher.forget()
            async with thrown_away(watchers[8:]):
                yield watchers

    async def _changes(self, writers: list[Connection]) -> int:
        def step(connection: Connection, number: int) -> Awaitable[bytes]:
            body = b'{"metadata":{"annotations":{"number":"%d"}}}' % number
            path = f"{_PATH}/web-{number % PODS:05}"
            kind = "application/merge-patch+json"
            return connection.ask(self._target.request("PATCH", path, body, kind))

        return await closed_loop(writers, SECONDS, step)
