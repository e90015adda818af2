"""A hollow cluster: nodes that renew leases, report and watch, without kubelets behind them.

One process plays all of them. What the server used is read from the kernel, before and after.
"""

from __future__ import annotations

import asyncio
import math
import re
import sqlite3
import time
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import AsyncExitStack, asynccontextmanager, closing
from dataclasses import dataclass, field
from pathlib import Path

from benchmarks.api_server._load import Connection, Target, each
from benchmarks.api_server._server import ServerProcess
from benchmarks.scale import objects
from benchmarks.scale.model import Cluster

_WRITERS = 16
_SIZE = ("page_count", "page_size")
_REVISION = re.compile(rb'"resourceVersion":"(\d+)"')


@dataclass(frozen=True, slots=True)
class Used:
    """Counters of a server."""

    wall_s: float
    cpu_s: float
    resident_mb: float
    stored_mb: float


def used(server: ServerProcess, folder: Path) -> Used:
    """The database's own size: what its file will be, once the log written ahead is in it."""
    with closing(sqlite3.connect(f"file:{folder / 'objects.db'}?mode=ro", uri=True)) as database:
        sizes = [database.execute(f"PRAGMA {what}").fetchone()[0] for what in _SIZE]
    stored_mb = math.prod(sizes) / 1e6
    return Used(time.monotonic(), server.cpu_s(), server.resident_mb(), stored_mb)


@dataclass(slots=True)
class Sent:
    """What was asked: how often, how large, and how long it took."""

    count: int = 0
    in_b: int = 0
    out_b: int = 0
    latencies_s: list[float] = field(default_factory=list)


@dataclass(slots=True)
class HollowNode:
    name: str
    requests: Connection
    lease_version: str = ""
    turn: asyncio.Lock = field(default_factory=asyncio.Lock)  # a connection asks one at a time
    watches: list[Connection] = field(default_factory=list)


class Hollow:
    """The nodes of ``cluster``, connected to one server."""

    def __init__(self, server: ServerProcess, cluster: Cluster) -> None:
        self._target = Target(server.port, server.token)
        self.cluster = cluster
        self._stack = AsyncExitStack()
        self.nodes: list[HollowNode] = []
        self.followers: list[Connection] = []
        self.sent = {"pod": Sent(), "lease": Sent(), "status": Sent()}

    @asynccontextmanager
    async def open(self) -> AsyncIterator[Hollow]:
        async with self._stack:
            yield self

    async def create_nodes(self) -> None:
        requests = [
            self._target.request("POST", path, make(number))
            for number in range(self.cluster.nodes)
            for path, make in ((objects.NODES, objects.node), (objects.LEASES, objects.lease))
        ]
        await self._ask_all(requests)

    async def create_pods(self, first: int, last: int) -> None:
        nodes = self.cluster.nodes
        made = (objects.pod(number, nodes) for number in range(first, last))
        await self._ask_all([self._target.request("POST", objects.PODS, body) for body in made])

    async def connect(self) -> None:
        """Every node's connection for requests."""
        opening = self._target.connections(self.cluster.nodes)
        made = await self._stack.enter_async_context(opening)
        self.nodes = [HollowNode(f"node-{n}", connection) for n, connection in enumerate(made)]

    async def connect_watches(self) -> list[Connection]:
        count = self.cluster.nodes * self.cluster.watches_per_node
        return await self._stack.enter_async_context(self._target.connections(count))

    async def watch(self, connections: list[Connection]) -> None:
        """Pods of the node, the node itself, and services, in turn for each node."""
        version = await self.version()
        for number, connection in enumerate(connections):
            node = self.nodes[number // self.cluster.watches_per_node]
            paths = (
                f"{objects.PODS}?fieldSelector=spec.nodeName%3D{node.name}&",
                f"{objects.NODES}?fieldSelector=metadata.name%3D{node.name}&",
                "/api/v1/services?",
            )
            path = paths[number % len(paths)]
            await connection.watch(self._target.request("GET", f"{path}{_watching(version)}"))
            node.watches.append(connection)

    async def follow(self, count: int) -> None:
        made = await self._stack.enter_async_context(self._target.connections(count))
        version = await self.version()
        for connection in made:
            path = f"{objects.PODS}?{_watching(version)}"
            await connection.watch(self._target.request("GET", path))
        self.followers += made

    async def version(self) -> str:
        async with self._target.connections(1) as (connection,):
            request = self._target.request("GET", f"{objects.PODS}?limit=1")
            return _version(await connection.ask(request))

    async def list_pods(self, query: str = "") -> tuple[float, int]:
        """Seconds until all of it was here, and its bytes."""
        async with self._target.connections(1) as (connection,):
            began = time.monotonic()
            answer = await connection.ask(self._target.request("GET", objects.PODS + query))
            return time.monotonic() - began, len(answer)

    async def paced(self, kind: str, per_s: float, seconds: float) -> None:
        """So many of one kind per second, each by its node, whether others were answered or not."""
        write = self._writers()[kind]
        began, number = time.monotonic(), 0
        async with asyncio.TaskGroup() as group:
            while number < per_s * seconds:
                wait_s = began + number / per_s - time.monotonic()
                if wait_s > 0:
                    await asyncio.sleep(wait_s)
                group.create_task(write(number))
                number += 1

    async def burst(self, kind: str, count: int) -> None:
        """So many of one kind, as fast as they are answered."""
        write = self._writers()[kind]
        waiting = iter(range(count))

        async def one() -> None:
            for number in waiting:
                await write(number)

        async with asyncio.TaskGroup() as group:
            for _ in range(_WRITERS):
                group.create_task(one())

    def _writers(self) -> dict[str, Callable[[int], Coroutine[None, None, None]]]:
        return {"pod": self._change_pod, "lease": self._renew, "status": self._report}

    async def _change_pod(self, number: int) -> None:
        at = number % self.cluster.pods
        path = f"{objects.PODS}/{objects.pod_name(at)}/status"
        await self._write(
            "pod",
            self.nodes[at % len(self.nodes)],
            lambda: self._target.request(
                "PATCH", path, objects.pod_change(time.monotonic_ns()), objects.STRATEGIC
            ),
        )

    async def _renew(self, number: int) -> None:
        at = number % len(self.nodes)
        path, node = f"{objects.LEASES}/node-{at}", self.nodes[at]
        if not node.lease_version:
            async with node.turn:
                read = await node.requests.ask(self._target.request("GET", path))
            node.lease_version = _version(read)
        answer = await self._write(
            "lease",
            node,
            lambda: self._target.request("PUT", path, objects.lease(at, node.lease_version)),
        )
        node.lease_version = _version(answer)

    async def _report(self, number: int) -> None:
        node = self.nodes[number % len(self.nodes)]
        path = f"{objects.NODES}/{node.name}/status"
        await self._write(
            "status",
            node,
            lambda: self._target.request("PATCH", path, objects.node_status(), objects.STRATEGIC),
        )

    async def _write(self, kind: str, node: HollowNode, made: Callable[[], bytes]) -> bytes:
        async with node.turn:
            request, began = made(), time.monotonic()
            answer = await node.requests.ask(request)
            sent = self.sent[kind]
            sent.latencies_s.append(time.monotonic() - began)
            sent.count += 1
            sent.in_b += len(request)
            sent.out_b += len(answer)
            return answer

    async def _ask_all(self, requests: list[bytes]) -> None:
        async with self._target.connections(_WRITERS) as connections:
            await each(connections, requests)


def _version(answer: bytes) -> str:
    found = _REVISION.search(answer)
    assert found is not None
    return found[1].decode()


def _watching(version: str) -> str:
    return f"watch=true&allowWatchBookmarks=true&resourceVersion={version}"
