"""The client below informers: what lists, events and requests cost it.

The server is a process of its own that sends bytes made beforehand, so that only the client counts.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import subprocess
import sys
import tempfile
from collections.abc import AsyncIterator

from benchmarks.report import CpuTimer, Row
from proreus.api.object_list import ListDecoder
from proreus.api.wire import json
from proreus.api.wire.framing import decode_event
from proreus.client import Client, ClientConfig

PODS = 10_000
EVENTS = 20_000
REQUESTS = 2_000


def pod(number: int) -> dict[str, object]:
    """About 3.7 kB, as a running pod of one Deployment is."""
    env = [{"name": f"SETTING_{n}", "value": "x" * 24} for n in range(42)]
    container = {
        "name": "main",
        "image": "registry.example.com/team/service:1.2.3",
        "env": env,
        "resources": {"limits": {"cpu": "1", "memory": "1Gi"}},
        "volumeMounts": [{"name": f"v{n}", "mountPath": f"/mnt/{n}"} for n in range(6)],
    }
    conditions = [
        {"type": kind, "status": "True", "lastTransitionTime": "2026-01-01T00:00:00Z"}
        for kind in ("Ready", "Initialized", "ContainersReady", "PodScheduled")
    ]
    return {
        "metadata": {
            "name": f"web-{number:05}",
            "namespace": f"team-{number % 50}",
            "uid": f"8f14e45f-ceea-467f-a3d5-{number:012}",
            "resourceVersion": str(number + 1),
            "labels": {"app": "web", "tier": "front", "pod-template-hash": "5d89f7c6b"},
            "annotations": {"checksum/config": "e" * 64},
        },
        "spec": {
            "nodeName": f"node-{number % 100}",
            "containers": [container],
            "volumes": [{"name": f"v{n}", "configMap": {"name": f"map-{n}"}} for n in range(6)],
        },
        "status": {"phase": "Running", "podIP": "10.0.0.1", "conditions": conditions},
    }


def list_body() -> bytes:
    return json.encode(
        {
            "kind": "PodList",
            "apiVersion": "v1",
            "metadata": {"resourceVersion": "99999"},
            "items": [pod(number) for number in range(PODS)],
        }
    )


def event_line(number: int) -> bytes:
    whole = {"kind": "Pod", "apiVersion": "v1", **pod(number)}
    return json.encode({"type": "MODIFIED", "object": whole}) + b"\n"


def run() -> list[Row]:
    rows = [*_decoding(), *asyncio.run(_over_sockets())]
    return [*rows, *_import_rows()]


def _decoding() -> list[Row]:
    body = list_body()
    with CpuTimer() as listing:
        decoder = ListDecoder(body)
        while decoder.step():
            pass
        decoder.result()
    line = event_line(1).rstrip()
    with CpuTimer() as watching:
        for _ in range(EVENTS):
            decode_event(line)
    return [
        Row(f"decode a list of {PODS} pods of {len(line)} bytes", listing.cpu_s, "s", 0.15),
        Row("decode events of such pods", EVENTS / watching.cpu_s, "/s", 100_000, True),
    ]


async def _over_sockets() -> list[Row]:
    async with _server() as url, Client(ClientConfig(url, rate_limit=None)) as client:
        pods, everywhere = client.core_v1.pods, client.core_v1.pods.in_all_namespaces()
        await pods.get("warm-up")
        with CpuTimer() as listing:
            found = await everywhere.list()
        assert len(found) == PODS
        with CpuTimer() as watching:
            async with everywhere.watch() as events:
                count = 0
                async for _ in events:
                    count += 1
        assert count == EVENTS
        with CpuTimer() as asking:
            for _ in range(REQUESTS):
                await pods.get("web")
    return [
        Row(f"LIST {PODS} pods from a socket, client's CPU", listing.cpu_s, "s", 0.4),
        Row("watch events from a socket, per second of client's CPU",
            EVENTS / watching.cpu_s, "/s", 20_000, True),
        Row("GET one pod, client's CPU", asking.cpu_s / REQUESTS * 1e6, "µs", 500),
    ]  # fmt: skip


def _import_rows() -> list[Row]:
    return [
        Row("import proreus.client, CPU", _import_ms("import proreus.client"), "ms", 25),
        Row("from proreus.client import Client, CPU",
            _import_ms("from proreus.client import Client"), "ms", 120),
    ]  # fmt: skip


def _import_ms(statement: str) -> float:
    """The best of several, with the compiled files that an installed package has."""
    program = f"import time; t = time.process_time(); {statement}; print(time.process_time() - t)"
    with tempfile.TemporaryDirectory() as compiled:
        environment = {**os.environ, "PYTHONPYCACHEPREFIX": compiled}
        environment.pop("PYTHONDONTWRITEBYTECODE", None)
        times = [
            float(
                subprocess.run(
                    [sys.executable, "-c", program], capture_output=True, env=environment
                ).stdout
            )
            for _ in range(10)
        ]
    return min(times) * 1e3


@contextlib.asynccontextmanager
async def _server() -> AsyncIterator[str]:
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "benchmarks.client_rest", stdout=asyncio.subprocess.PIPE
    )
    assert process.stdout is not None
    try:
        yield (await process.stdout.readline()).decode().strip()
    finally:
        process.terminate()
        await process.wait()


async def _serve() -> None:
    listing = list_body()
    one = json.encode({"kind": "Pod", "apiVersion": "v1", **pod(1)})
    lines = b"".join(event_line(number) for number in range(EVENTS))

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(asyncio.IncompleteReadError, OSError):
            while True:
                target = (await reader.readuntil(b"\r\n\r\n")).split(b" ", 2)[1]
                if b"watch=true" in target:
                    body = lines
                else:
                    body = one if b"/namespaces/" in target else listing
                writer.write(
                    b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"
                    b"Content-Length: %d\r\n\r\n" % len(body)
                )
                writer.write(body)
                await writer.drain()

    server = await asyncio.start_server(answer, "127.0.0.1", 0)
    print(f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}", flush=True)
    await server.serve_forever()


if __name__ == "__main__":
    asyncio.run(_serve())
