"""A server of a few lines that answers exactly as a test says, over a real socket."""

from __future__ import annotations

import asyncio
import contextlib
import socket
import ssl
import struct
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from proreus.api.wire import json
from proreus.testing.virtual_clock import VirtualClock


@dataclass(frozen=True)
class Received:
    """A request as it arrived; header names are lower case."""

    method: str
    target: str
    headers: dict[str, str]
    body: bytes
    all_headers: tuple[tuple[str, str], ...] = ()

    @property
    def path(self) -> str:
        return self.target.partition("?")[0]

    @property
    def query(self) -> set[str]:
        return set(filter(None, self.target.partition("?")[2].split("&")))


class Connection:
    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.reader = reader
        self.writer = writer

    async def send(self, data: bytes) -> None:
        self.writer.write(data)
        await self.writer.drain()

    def reset(self) -> None:
        sock = self.writer.get_extra_info("socket")
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.writer.transport.abort()


Step = Callable[[Received, Connection], Awaitable[None]]


@dataclass
class ScriptedServer:
    """Each request takes the next step of the script; the last one repeats if ``repeats``."""

    steps: list[Step]
    repeats: bool = False
    requests: list[Received] = field(default_factory=list)
    connections: int = 0
    url: str = ""
    _arrivals: asyncio.Condition = field(default_factory=asyncio.Condition)

    async def wait_requests(self, count: int) -> None:
        """Return once so many requests have arrived."""
        async with self._arrivals:
            await self._arrivals.wait_for(lambda: len(self.requests) >= count)

    @contextlib.asynccontextmanager
    async def running(self, tls: ssl.SSLContext | None = None) -> AsyncIterator[ScriptedServer]:
        done: set[asyncio.Task[None]] = set()

        async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            task = asyncio.current_task()
            assert task is not None
            done.add(task)
            self.connections += 1
            with contextlib.suppress(OSError, asyncio.IncompleteReadError, asyncio.CancelledError):
                await self._serve(Connection(reader, writer))
            writer.close()

        server = await asyncio.start_server(serve, "127.0.0.1", 0, ssl=tls)
        port = server.sockets[0].getsockname()[1]
        self.url = f"{'https' if tls else 'http'}://127.0.0.1:{port}"
        try:
            yield self
        finally:
            server.close()
            for task in done:
                task.cancel()
            await asyncio.gather(*done, return_exceptions=True)

    async def _serve(self, connection: Connection) -> None:
        while True:
            head = await connection.reader.readuntil(b"\r\n\r\n")
            request_line, *lines = head.decode().strip().split("\r\n")
            method, target, _ = request_line.split(" ")
            pairs = [tuple(line.split(": ", 1)) for line in lines]
            headers = {name.lower(): value for name, value in pairs}
            body = await connection.reader.readexactly(int(headers.get("content-length", 0)))
            all_headers = tuple((name.lower(), value) for name, value in pairs)
            received = Received(method, target, headers, body, all_headers)
            async with self._arrivals:
                self.requests.append(received)
                self._arrivals.notify_all()
            if not self.steps:
                await answer(500, b"the script is over")(received, connection)
                continue
            step = self.steps[0] if self.repeats and len(self.steps) == 1 else self.steps.pop(0)
            await step(received, connection)


def answer(
    status: int = 200,
    body: bytes | Mapping[str, Any] = b"",
    content_type: str = "application/json",
    **headers: str,
) -> Step:
    """One whole answer. Header names take underscores for dashes."""
    content = body if isinstance(body, bytes) else json.encode(body)

    async def step(_: Received, connection: Connection) -> None:
        lines = [f"HTTP/1.1 {status} X", f"Content-Length: {len(content)}"]
        if content_type:
            lines.append(f"Content-Type: {content_type}")
        lines += [f"{name.replace('_', '-')}: {value}" for name, value in headers.items()]
        await connection.send("\r\n".join(lines).encode() + b"\r\n\r\n" + content)

    return step


def reset() -> Step:
    async def step(_: Received, connection: Connection) -> None:
        connection.reset()

    return step


def hang() -> Step:
    """Say nothing until the client goes away."""

    async def step(_: Received, connection: Connection) -> None:
        await connection.reader.read()

    return step


def stream(
    chunks: Iterable[bytes], *, then: str = "end", content_type: str = "application/json"
) -> Step:
    """A chunked answer, then ``end``, ``reset`` or ``hang``."""

    async def step(_: Received, connection: Connection) -> None:
        await connection.send(
            b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nContent-Type: "
            + content_type.encode()
            + b"\r\n\r\n"
        )
        for chunk in chunks:
            await connection.send(b"%x\r\n%b\r\n" % (len(chunk), chunk))
        if then == "end":
            await connection.send(b"0\r\n\r\n")
        elif then == "reset":
            connection.reset()
        else:
            await connection.reader.read()

    return step


class HastyClock(VirtualClock):
    """Sleeping takes no time but moves the clock; ``slept`` remembers how long."""

    def __init__(self) -> None:
        super().__init__()
        self.slept: list[float] = []

    async def sleep(self, delay_s: float) -> None:
        self.slept.append(delay_s)
        self._elapsed_s += delay_s
        await asyncio.sleep(0)
