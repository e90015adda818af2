"""Port-forwards to a real server: kubectl's tunnel and the older channels."""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import os
from collections.abc import AsyncIterator

import pytest_asyncio

from tests.cluster.streams.conftest import Kubectl, KubectlProcess, Stage

BODY = os.urandom(2_000_000)


class Web:
    """Answers every request with a large body and says what it was asked."""

    def __init__(self, port: int) -> None:
        self.port = port
        self.asked: list[bytes] = []
        self.open = 0
        self.is_idle = asyncio.Event()


@pytest_asyncio.fixture
async def web() -> AsyncIterator[Web]:
    writers: set[asyncio.StreamWriter] = set()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writers.add(writer)
        server.open += 1
        server.is_idle.clear()
        try:
            with contextlib.suppress(ConnectionError, asyncio.IncompleteReadError):
                while True:
                    head = await reader.readuntil(b"\r\n\r\n")
                    server.asked.append(head.split(b"\r\n")[0])
                    writer.write(
                        b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%b" % (len(BODY), BODY)
                    )
                    await writer.drain()
        finally:
            server.open -= 1
            writer.close()
            if not server.open:
                server.is_idle.set()

    listener = await asyncio.start_server(serve, "127.0.0.1", 0)
    server = Web(listener.sockets[0].getsockname()[1])
    async with listener:
        yield server
        for writer in writers:  # from Python 3.12 on a server waits for its connections
            writer.transport.abort()


async def get(port: int, path: str = "/") -> bytes:
    """The body of one answer, on a connection of its own."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    try:
        writer.write(f"GET {path} HTTP/1.1\r\nHost: pod\r\n\r\n".encode())
        head = await reader.readuntil(b"\r\n\r\n")
        size = int(head.lower().split(b"content-length: ")[1].split(b"\r\n")[0])
        return await reader.readexactly(size)
    finally:
        writer.close()
        await writer.wait_closed()


async def local_port(process: asyncio.subprocess.Process) -> int:
    """Where kubectl says that it listens."""
    assert process.stdout
    line = (await process.stdout.readline()).decode()
    assert line.startswith("Forwarding from 127.0.0.1:"), (line, process.stderr)
    return int(line.split(":")[1].split(" ")[0])


async def test_kubectl_forwards_a_port(
    stage: Stage, web: Web, kubectl_process: KubectlProcess
) -> None:
    await stage.pod()

    async with kubectl_process("port-forward", "web", f":{web.port}") as process:
        port = await local_port(process)
        first = await get(port, "/one")
        several = await asyncio.gather(*(get(port, f"/{number}") for number in range(5)))

    assert first == BODY
    assert [hashlib.sha256(body).digest() for body in several] == [
        hashlib.sha256(BODY).digest()
    ] * 5
    assert web.asked[0] == b"GET /one HTTP/1.1"
    async with asyncio.timeout(60):
        await web.is_idle.wait()


async def test_a_port_where_nobody_listens_is_named(
    stage: Stage, kubectl_process: KubectlProcess
) -> None:
    pod = await stage.pod()

    async with kubectl_process("port-forward", "web", ":1") as process:
        port = await local_port(process)
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        assert await reader.read() == b""
        writer.close()
        assert process.stderr
        said = (await process.stderr.readline()).decode()

    assert f"error forwarding port 1 to pod web, uid {pod.uid}: connection refused" in said


async def test_a_kubelet_that_is_down_is_named(stage: Stage, kubectl: Kubectl) -> None:
    await stage.pod()
    await stage.point_node_to(1)

    done = await kubectl("port-forward", "web", ":80")

    assert done.code == 1
    assert "error dialing backend: dial tcp 127.0.0.1:1: connect: connection refused" in done.err
