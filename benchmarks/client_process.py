"""A whole client program that lists 10,000 pods and follows their changes, printing names.

Ours is ``_pod_names``; with ``--client-go`` kubectl, which is client-go, does the same. Both are
asked of the same server in turn. CPU and memory are the process's, from the kernel.
"""

from __future__ import annotations

import asyncio
import subprocess
import sys
import tempfile
from pathlib import Path

from benchmarks._peers import Peers
from benchmarks._process import cpu_s, peak_mb
from benchmarks.api_server import pod
from benchmarks.api_server._load import Target, each
from benchmarks.api_server._server import running_server
from benchmarks.report import Row

PODS = 10_000
EVENTS = 5_000
_PATH = "/api/v1/namespaces/default/pods"
_WRITERS = 8
_LIST = "list 10,000 pods and print their names, start included: CPU"
_WATCH = "watch them and print a name per event: CPU per event"
_MEMORY = "peak memory of that process"


def run() -> list[Row]:
    list_s, event_us, memory_mb = _measured([sys.executable, "-m", "benchmarks._pod_names"], [])
    return [
        Row(_LIST, list_s, "s"),
        Row(_WATCH, event_us, "µs"),
        Row(_MEMORY, memory_mb, "MB"),
    ]


def run_peers(peers: Peers) -> list[Row]:
    if peers.client_go is None:
        return []
    asked = "get pods --namespace=default --watch --output=name --chunk-size=0 --kubeconfig"
    list_s, event_us, memory_mb = _measured([str(peers.client_go)], asked.split())
    return [
        Row(_LIST, list_s, "s", peer="kubectl"),
        Row(_WATCH, event_us, "µs", peer="kubectl"),
        Row(_MEMORY, memory_mb, "MB", peer="kubectl"),
    ]


def _measured(program: list[str], arguments: list[str]) -> tuple[float, float, float]:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name) / "data"
        with running_server(folder, Path(name) / "bytecode") as server:
            target = Target(server.port, server.token)
            asyncio.run(_create(target))
            command = [*program, *arguments, str(folder / "kubeconfig")]
            with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
                try:
                    return _followed(process, target)
                finally:
                    process.terminate()


def _followed(process: subprocess.Popen[str], target: Target) -> tuple[float, float, float]:
    """It lists, then watches from the list's version: no event is missed between the two."""
    _read_lines(process, PODS)
    listed_s = cpu_s(process.pid)
    asyncio.run(_change(target, process))
    return listed_s, (cpu_s(process.pid) - listed_s) / EVENTS * 1e6, peak_mb(process.pid)


async def _create(target: Target) -> None:
    async with target.connections(_WRITERS) as connections:
        await each(connections, [target.request("POST", _PATH, pod(n)) for n in range(PODS)])


async def _change(target: Target, process: subprocess.Popen[str]) -> None:
    def request(number: int) -> bytes:
        body = b'{"metadata":{"annotations":{"sent":"%d"}}}' % number
        path = f"{_PATH}/web-{number:05}"
        return target.request("PATCH", path, body, "application/merge-patch+json")

    async with target.connections(_WRITERS) as connections, asyncio.TaskGroup() as group:
        group.create_task(asyncio.to_thread(_read_lines, process, EVENTS))
        group.create_task(each(connections, [request(number + 1) for number in range(EVENTS)]))


def _read_lines(process: subprocess.Popen[str], count: int) -> None:
    assert process.stdout is not None
    for number in range(count):
        if not process.stdout.readline():
            raise RuntimeError(f"the client ended after {number} of {count} lines")
