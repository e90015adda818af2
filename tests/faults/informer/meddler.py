"""An HTTP proxy that answers some requests itself, with bytes of the test's choosing.

It reads the head of each connection's first request; a planned answer is sent instead of asking the
server, and the connection is closed. Everything else passes. ``plan`` also cuts what is open, so
that the next request comes on a new connection.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections import deque

from proreus.api.wire import json
from tests.any_server import Upstream


def answer(code: str, body: bytes, *headers: str) -> bytes:
    """A whole HTTP answer."""
    head = [f"HTTP/1.1 {code}", "Content-Type: application/json", *headers]
    head += [f"Content-Length: {len(body)}", "Connection: close"]
    return ("\r\n".join(head) + "\r\n\r\n").encode() + body


def stream(*lines: bytes) -> bytes:
    """A watch's answer: chunked, one line per chunk, ended properly."""
    head = (
        b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n"
    )
    chunks = b"".join(b"%x\r\n%b\n\r\n" % (len(line) + 1, line) for line in lines)
    return head + chunks + b"0\r\n\r\n"


def status(code: int, reason: str, message: str) -> bytes:
    return json.encode(
        {
            "kind": "Status",
            "apiVersion": "v1",
            "metadata": {},
            "status": "Failure",
            "message": message,
            "reason": reason,
            "code": code,
        }
    )


class Meddler:
    """Between a client, which speaks plain HTTP, and a server. Use as an async context manager."""

    def __init__(self, upstream: Upstream) -> None:
        self._upstream = upstream
        self.port = 0
        self.requests: list[str] = []  # targets of the first request of each connection
        self._planned: deque[tuple[str, bytes]] = deque()
        self._listener: asyncio.Server | None = None
        self._open: set[asyncio.Task[None]] = set()

    def plan(self, *answers: bytes, to: str = "watch=") -> None:
        """Answer the next requests whose target contains ``to`` with these bytes."""
        self._planned.extend((to, planned) for planned in answers)
        self.cut()

    @property
    def is_done(self) -> bool:
        return not self._planned

    def cut(self) -> None:
        for task in self._open:
            task.cancel()

    async def __aenter__(self) -> Meddler:
        self._listener = await asyncio.start_server(self._accept, "127.0.0.1", 0)
        self.port = self._listener.sockets[0].getsockname()[1]
        return self

    async def __aexit__(self, *raised: object) -> None:
        assert self._listener is not None
        self._listener.close()
        self.cut()
        await asyncio.gather(*self._open, return_exceptions=True)

    async def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._open.add(task)
        try:
            with contextlib.suppress(OSError, asyncio.IncompleteReadError, asyncio.CancelledError):
                await self._serve(reader, writer)
        finally:
            self._open.discard(task)
            writer.transport.abort()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = await reader.readuntil(b"\r\n\r\n")
        target = head.split(b" ", 2)[1].decode()
        self.requests.append(target)
        if self._planned and self._planned[0][0] in target:
            writer.write(self._planned.popleft()[1])
            await writer.drain()
            writer.write_eof()
            await reader.read()  # until the client has taken it all and hangs up
            return
        to = self._upstream
        from_server, to_server = await asyncio.open_connection(
            to.host, to.port, ssl=to.tls, server_hostname=to.server_name
        )
        try:
            to_server.write(head)
            async with asyncio.TaskGroup() as both:
                both.create_task(_pump(reader, to_server))
                both.create_task(_pump(from_server, writer))
        finally:
            to_server.close()


async def _pump(source: asyncio.StreamReader, sink: asyncio.StreamWriter) -> None:
    """An end is passed on as an end, a reset as a reset."""
    try:
        while piece := await source.read(65536):
            sink.write(piece)
            await sink.drain()
        if sink.can_write_eof():
            sink.write_eof()
        else:
            sink.close()
    except OSError:
        sink.transport.abort()
