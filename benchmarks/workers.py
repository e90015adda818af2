"""``server --workers 2`` beside one process, on one etcd: what two cores would serve.

The load and etcd share the machine's cores with the servers, so that rates here say little of two
cores that are the servers' own. What counts is the CPU of the busiest worker for the same work: a
server is full when one of its workers is. Rates are there to be seen.

Both are asked in turn, each time over new connections: what else the machine does meets both, and
the kernel, which gives connections to workers by chance, has another chance each time.
"""

from __future__ import annotations

import asyncio
import re
import tempfile
import time
from collections.abc import AsyncIterator, Awaitable, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from pathlib import Path

from benchmarks import _process
from benchmarks.api_server import pod
from benchmarks.api_server._load import Connection, Target, closed_loop, each, thrown_away
from benchmarks.api_server._server import ServerProcess, running_server
from benchmarks.report import Row, row_of
from proreus.cli.tuning import keep_small_buffers
from tests.real_etcd import started_etcd

PODS = 1_000
CONNECTIONS = 48  # for each process; the kernel spreads them by chance: of few, one would have most
WATCHERS = 200
ROUNDS = 5
SECONDS = 1.0
LISTS = 50
WRITERS = 4
_PATH = "/api/v1/namespaces/default/pods"
_GOAL = 1.7
_GET, _LIST, _EVENT = _WORKS = "GET", "LIST of 1,000 pods", "event to a watcher"


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

    @property
    def each_us(self) -> float:
        return self.all_s / self.count * 1e6

    @property
    def per_s(self) -> float:
        return self.count / self.wall_s


def run() -> list[Row]:
    keep_small_buffers()
    with _asked(1) as one, _asked(2) as two:
        return asyncio.run(_compared(one, two))


async def _compared(one: _Asked, two: _Asked) -> list[Row]:
    await one.fill()
    await two.fill()
    rows = []
    for work in _WORKS:
        alone, shared = list[Served](), list[Served]()
        for _ in range(ROUNDS):
            alone.append(await one.served(work))
            shared.append(await two.served(work))
        rows += _rows(work, alone, shared)
    return rows


def _rows(work: str, alone: list[Served], shared: list[Served]) -> list[Row]:
    pairs = zip(alone, shared, strict=True)
    ratios = [two.per_core_s / one.per_core_s for one, two in pairs]
    return [
        row_of(f"{work}, two workers beside one", ratios, "×", _GOAL, higher_is_better=True),
        row_of(f"{work}, CPU of one process", [one.each_us for one in alone], "µs"),
        row_of(f"{work}, CPU of two workers", [two.each_us for two in shared], "µs"),
        row_of(f"{work}, rate of one process", [one.per_s for one in alone], "/s"),
        row_of(f"{work}, rate of two workers", [two.per_s for two in shared], "/s"),
    ]


@contextmanager
def _asked(workers: int) -> Iterator[_Asked]:
    with started_etcd() as etcd, tempfile.TemporaryDirectory() as name:
        folder, bytecode = Path(name) / "data", Path(name) / "bytecode"
        flags = ("--etcd", etcd.endpoints[0], "--workers", str(workers))
        with running_server(folder, bytecode, *flags) as server:
            yield _Asked(server)


class _Asked:
    def __init__(self, server: ServerProcess) -> None:
        self._target = Target(server.port, server.token)
        owner = server.pid
        children = Path(f"/proc/{owner}/task/{owner}/children").read_text().split()
        self._pids = [int(pid) for pid in children] or [owner]
        self._connections = CONNECTIONS * len(self._pids)

    async def fill(self) -> None:
        bodies = [self._target.request("POST", _PATH, pod(number)) for number in range(PODS)]
        async with self._target.connections(self._connections) as connections:
            await each(connections, bodies)

    async def served(self, work: str) -> Served:
        if work == _EVENT:
            return await self._delivered()
        async with self._target.connections(self._connections) as connections:
            asked = self._gets if work == _GET else self._lists
            return await self._served(asked(connections))

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
            listed = await watchers[0].ask(self._target.request("GET", f"{_PATH}?limit=1"))
            found = re.search(rb'"resourceVersion":"(\d+)"', listed)
            assert found is not None
            path = f"{_PATH}?watch=true&resourceVersion={found[1].decode()}"
            for watcher in watchers:
                await watcher.watch(self._target.request("GET", path))
            async with thrown_away(watchers[8:]):
                yield watchers

    async def _changes(self, writers: list[Connection]) -> int:
        def step(connection: Connection, number: int) -> Awaitable[bytes]:
            # Other than that of the round before: a patch that changes nothing is no event.
            body = b'{"metadata":{"annotations":{"at":"%d"}}}' % time.monotonic_ns()
            path = f"{_PATH}/web-{number % PODS:05}"
            kind = "application/merge-patch+json"
            return connection.ask(self._target.request("PATCH", path, body, kind))

        return await closed_loop(writers, SECONDS, step)
