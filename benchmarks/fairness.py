"""What one user's flood of lists does to another user's reads. Both are ordinary users.

The flood is sent by a process of its own, so that its answers do not hold up the one that measures.
"""

from __future__ import annotations

import asyncio
import multiprocessing
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from benchmarks.api_server._load import Connection, Target
from benchmarks.api_server._server import ServerProcess, running_server
from benchmarks.report import Row
from proreus.api.wire import json

_OBJECTS = 2_000
_FLOODERS = 20
_GETS = 400
_PATH = "/api/v1/namespaces/default/configmaps"


def run() -> list[Row]:
    with tempfile.TemporaryDirectory() as name:
        folder, bytecode = Path(name) / "data", Path(name) / "bytecode"
        with running_server(folder, bytecode) as server:
            asyncio.run(_prepare(server))
            idle = asyncio.run(_gets(server))
            with _flood(server):
                loaded = asyncio.run(_gets(server))
    flooded = f"while another sends {_FLOODERS} lists at a time"
    return [
        Row("GET of one user, idle server, p50", _percentile(idle, 0.5), "ms"),
        Row("the same, p99", _percentile(idle, 0.99), "ms"),
        Row(f"{flooded}, p50", _percentile(loaded, 0.5), "ms"),
        Row("the same, p99", _percentile(loaded, 0.99), "ms", 2 * _percentile(idle, 0.99)),
    ]


async def _prepare(server: ServerProcess) -> None:
    target = Target(server.port, server.token)
    data = {"a": "x" * 1000}
    role = {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "view-all"}
    rules = [{"verbs": ["*"], "apiGroups": [""], "resources": ["configmaps"]}]
    everyone = [{"kind": "Group", "name": "system:authenticated"}]
    group = "/apis/rbac.authorization.k8s.io/v1"
    named = {"metadata": {"name": "view-all"}}
    async with target.connections(1) as (connection,):
        for path, obj in (
            (f"{group}/clusterroles", {**named, "rules": rules}),
            (f"{group}/clusterrolebindings", {**named, "roleRef": role, "subjects": everyone}),
            *((_PATH, {"metadata": {"name": f"m{n}"}, "data": data}) for n in range(_OBJECTS)),
        ):
            await connection.ask(target.request("POST", path, json.encode(obj)))


async def _gets(server: ServerProcess) -> list[float]:
    """Sorted latencies in milliseconds."""
    target = Target(server.port, server.token)
    request = _as_user("reader", target.request("GET", f"{_PATH}/m1"))
    took = []
    async with target.connections(1) as (connection,):
        for _ in range(_GETS):
            begun = time.perf_counter()
            await connection.ask(request)
            took.append((time.perf_counter() - begun) * 1e3)
            await asyncio.sleep(0.002)
    return sorted(took)


@contextmanager
def _flood(server: ServerProcess) -> Iterator[None]:
    spawned = multiprocessing.get_context("spawn")
    has_begun = spawned.Event()
    flood = spawned.Process(target=_send_lists, args=(server.port, server.token, has_begun))
    flood.start()
    has_begun.wait(60)
    try:
        yield
    finally:
        flood.terminate()
        flood.join()


def _send_lists(port: int, token: str, has_begun: object) -> None:
    asyncio.run(_lists(Target(port, token), has_begun))


async def _lists(target: Target, has_begun: object) -> None:
    request = _as_user("flood", target.request("GET", _PATH))

    async def one(connection: Connection) -> None:
        while True:
            await connection.ask(request, b"")  # whatever the answer: 429 is one, too

    async with target.connections(_FLOODERS) as connections, asyncio.TaskGroup() as group:
        for connection in connections:
            group.create_task(one(connection))
        await asyncio.sleep(0.5)
        has_begun.set()  # type: ignore[attr-defined]  # an event of another process's


def _as_user(name: str, request: bytes) -> bytes:
    return request.replace(b"\r\n", f"\r\nImpersonate-User: {name}\r\n".encode(), 1)


def _percentile(ordered: list[float], part: float) -> float:
    return ordered[min(len(ordered) - 1, int(len(ordered) * part))]
