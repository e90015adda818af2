"""What one user's flood of lists does to another user's reads and to a node's lease.

The flood is sent by a process of its own, so that its answers do not hold up the one that measures.
The server has one core and both clients another, in the order measuring, server, flood: what other
programs do meanwhile is not what is asked. Where that is not allowed, the figures have their noise.
"""

from __future__ import annotations

import asyncio
import gc
import multiprocessing
import os
import tempfile
import time
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from benchmarks.api_server._load import Connection, Target
from benchmarks.api_server._server import ServerProcess, running_server
from benchmarks.report import Row
from proreus.api.wire import json

_OBJECTS = 2_000
_FLOODERS = 20
_ASKED = 1_000
_PATH = "/api/v1/namespaces/default/configmaps"
_LEASES = "/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases"
_RENEWED_MS_MAX = 1_000  # a kubelet renews its lease every ten seconds
_READER = "Impersonate-User: reader"
_NODE = "Impersonate-User: system:node:n1\r\nImpersonate-Group: system:nodes"
_MEASURING, _SERVER, _FLOOD = 30, 20, 10  # real-time priorities

Latencies = tuple[list[float], list[float]]  # of GETs and of leases: sorted, in milliseconds


def run() -> list[Row]:
    with tempfile.TemporaryDirectory() as name:
        folder, bytecode = Path(name) / "data", Path(name) / "bytecode"
        with running_server(folder, bytecode) as server, _on_core(1, _MEASURING, os.getpid()):
            asyncio.run(_prepare(server))
            with _on_core(0, _SERVER, server.pid):
                idle = asyncio.run(_ask(server))
                with _flood(server) as lists_per_s:
                    loaded = asyncio.run(_ask(server))
    rows = [
        Row(f"lists of {_OBJECTS:,} objects by {_FLOODERS} clients of one user", *lists_per_s())
    ]
    gets = _rows("GET of another user", idle[0], loaded[0], 2 * _percentile(idle[0], 0.99))
    # A write waits for the disk, so its p99 is the disk's.
    leases = _rows("a node's renewal of its lease", idle[1], loaded[1], _RENEWED_MS_MAX)
    return [*rows, *gets, *leases]


def _rows(what: str, idle: list[float], loaded: list[float], target: float) -> list[Row]:
    return [
        Row(f"{what}, idle server, p50", _percentile(idle, 0.5), "ms"),
        Row("the same, p99", _percentile(idle, 0.99), "ms"),
        Row("the same while those lists are sent, p50", _percentile(loaded, 0.5), "ms"),
        Row("the same, p99", _percentile(loaded, 0.99), "ms", target),
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
            (_LEASES, _lease(0)),
            *((_PATH, {"metadata": {"name": f"m{n}"}, "data": data}) for n in range(_OBJECTS)),
        ):
            await connection.ask(target.request("POST", path, json.encode(obj)))


def _lease(number: int) -> dict[str, object]:
    return {"metadata": {"name": "n1"}, "spec": {"leaseDurationSeconds": 40 + number}}


async def _ask(server: ServerProcess) -> Latencies:
    """The reader's GETs, then the node's renewals: one at a time, with pauses."""
    target = Target(server.port, server.token)
    get = _as_user(_READER, target.request("GET", f"{_PATH}/m1"))
    gc.collect()
    async with target.connections(1) as (connection,):
        gets = await _timed(lambda _: connection.ask(get))
        leases = await _timed(lambda n: connection.ask(_renewal(target, n)))
    return gets, leases


def _renewal(target: Target, number: int) -> bytes:
    request = target.request("PATCH", f"{_LEASES}/n1", json.encode(_lease(number)))
    patch = b"Content-Type: application/merge-patch+json"
    return _as_user(_NODE, request.replace(b"Content-Type: application/json", patch))


async def _timed(ask: Callable[[int], Awaitable[bytes]]) -> list[float]:
    took = []
    for number in range(_ASKED):
        begun = time.perf_counter()
        await ask(number)
        took.append((time.perf_counter() - begun) * 1e3)
        await asyncio.sleep(0.002)
    return sorted(took)


@contextmanager
def _flood(server: ServerProcess) -> Iterator[Callable[[], tuple[float, str]]]:
    """Gives how many lists per second were answered meanwhile."""
    spawned = multiprocessing.get_context("spawn")
    has_begun, answered = spawned.Event(), spawned.Value("q", 0)
    flood = spawned.Process(
        target=_send_lists, args=(server.port, server.token, has_begun, answered)
    )
    flood.start()
    has_begun.wait(60)
    begun, before = time.monotonic(), answered.value
    rate = 0.0
    try:
        yield lambda: (rate, "1/s")
        rate = (answered.value - before) / (time.monotonic() - begun)
    finally:
        flood.terminate()
        flood.join()


def _send_lists(port: int, token: str, has_begun: object, answered: object) -> None:
    with _on_core(1, _FLOOD, os.getpid()):
        asyncio.run(_lists(Target(port, token), has_begun, answered))


async def _lists(target: Target, has_begun: object, answered: object) -> None:
    request = _as_user("Impersonate-User: flood", target.request("GET", _PATH))

    async def one(connection: Connection) -> None:
        while True:
            await connection.ask(request, b"")  # whatever the answer: 429 is one, too
            answered.value += 1  # type: ignore[attr-defined]  # a number of both processes

    async with target.connections(_FLOODERS) as connections, asyncio.TaskGroup() as group:
        for connection in connections:
            group.create_task(one(connection))
        await asyncio.sleep(0.5)
        has_begun.set()  # type: ignore[attr-defined]  # an event of another process's


@contextmanager
def _on_core(core: int, priority: int, pid: int) -> Iterator[None]:
    """All threads of a process, before those of other programs; where the system lets us."""
    threads = [int(task.name) for task in Path(f"/proc/{pid}/task").iterdir()]
    cores = os.sched_getaffinity(0)
    with suppress(PermissionError):
        for thread in threads:
            if len(cores) > 1:
                os.sched_setaffinity(thread, {sorted(cores)[core]})
            os.sched_setscheduler(thread, os.SCHED_RR, os.sched_param(priority))
    try:
        yield
    finally:
        with suppress(PermissionError, ProcessLookupError):
            for thread in threads:
                os.sched_setaffinity(thread, cores)
                os.sched_setscheduler(thread, os.SCHED_OTHER, os.sched_param(0))


def _as_user(headers: str, request: bytes) -> bytes:
    return request.replace(b"\r\n", f"\r\n{headers}\r\n".encode(), 1)


def _percentile(ordered: list[float], part: float) -> float:
    return ordered[min(len(ordered) - 1, int(len(ordered) * part))]
