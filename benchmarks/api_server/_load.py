"""A client that costs little: raw HTTP/1.1 over TLS, so that the server is what is measured."""

from __future__ import annotations

import asyncio
import contextlib
import re
import socket
import ssl
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import cast

from proreus.net.tls.handshakes import Handshakes
from proreus.net.tls.transport import TlsTransport

_LENGTH = re.compile(rb"[Cc]ontent-[Ll]ength: (\d+)")
_SENT = re.compile(rb'"sent":"(\d+)"')
_HEAD_END = b"\r\n\r\n"
_CHUNKED = re.compile(rb"[Tt]ransfer-[Ee]ncoding: chunked")
_LAST_CHUNK = b"\r\n0\r\n\r\n"  # JSON has no bare line ends, so an answer ends with the first one
_THROWN_AWAY = bytearray(4 * 1024 * 1024)
_SWEEP_S = 0.05
_RECEIVED_MAX = 1024 * 1024  # what the kernel holds for a connection until then: events of 0.3 s
_RECORD_BYTES, _RECORD_EXTRA = 16 * 1024, 22  # of TLS 1.3: head, kind, seal


class Target:
    """Where the server is, and the head every request to it has."""

    def __init__(self, port: int, token: str) -> None:
        self.port = port
        self._head = (
            f"Host: localhost\r\nAuthorization: Bearer {token}\r\n"
            "Accept: application/json\r\nUser-Agent: benchmark/1\r\n"
        )
        self.tls = ssl.create_default_context()
        self.tls.check_hostname = False
        self.tls.verify_mode = ssl.CERT_NONE

    def request(
        self, method: str, path: str, body: bytes = b"", content_type: str = "application/json"
    ) -> bytes:
        extra = f"Content-Type: {content_type}\r\nContent-Length: {len(body)}\r\n" if body else ""
        return f"{method} {path} HTTP/1.1\r\n{self._head}{extra}\r\n".encode() + body

    async def connect(self) -> Connection:
        """On the server's own transport, so that reading costs the load little."""
        loop = asyncio.get_running_loop()
        raw = socket.socket()
        raw.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, _RECEIVED_MAX)
        raw.connect(("127.0.0.1", self.port))
        raw.setblocking(False)
        raw.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        connected = self.tls.wrap_socket(raw, do_handshake_on_connect=False)
        connection = Connection()
        TlsTransport(loop, connected, connection, lambda transport: None, Handshakes(loop))
        await connection.made.wait()
        return connection

    @asynccontextmanager
    async def connections(self, count: int) -> AsyncIterator[list[Connection]]:
        made = [await self.connect() for _ in range(count)]
        try:
            yield made
        finally:
            for connection in made:
                connection.transport.abort()


class Connection(asyncio.Protocol):
    """One request at a time; after ``watch`` it only counts lines."""

    transport: asyncio.Transport

    def __init__(self) -> None:
        self.made = asyncio.Event()
        self._pieces: list[bytes] = []
        self._missing = -1  # bytes of the answer still to come, -1: its head is not here yet
        self._is_chunked = False
        self._answer: asyncio.Future[bytes] | None = None
        self._is_watching = False
        self.forget()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = cast(asyncio.Transport, transport)
        self.made.set()

    def forget(self) -> None:
        """Count from here on."""
        self.lines = 0
        self.bytes = 0
        self.latencies_s: list[float] = []

    async def ask(self, request: bytes, status: bytes = b"20") -> bytes:
        """The whole answer, head included."""
        self._answer = asyncio.get_running_loop().create_future()
        self.transport.write(request)
        answer = await self._answer
        assert answer[9:].startswith(status), answer[:2000]
        return answer

    async def watch(self, request: bytes) -> None:
        self._is_watching = True
        self._answer = asyncio.get_running_loop().create_future()
        self.transport.write(request)
        await self._answer

    def throw_away(self) -> None:
        """Take what has come off the socket without looking at it, and count its bytes."""
        connected = self.transport.get_extra_info("socket")
        with contextlib.suppress(BlockingIOError):
            # Past TLS, and with this flag past the copy into our memory, too.
            size = socket.socket.recv_into(connected, _THROWN_AWAY, 0, socket.MSG_TRUNC)
            self.bytes += size * _RECORD_BYTES // (_RECORD_BYTES + _RECORD_EXTRA)

    def data_received(self, data: bytes) -> None:
        if self._is_watching:
            self._count(data)
            return
        self._pieces.append(data)
        if self._missing < 0:
            whole = b"".join(self._pieces)
            end = whole.find(_HEAD_END)
            if end < 0:
                return
            length = _LENGTH.search(whole, 0, end)
            self._is_chunked = length is None and _CHUNKED.search(whole, 0, end) is not None
            assert length is not None or self._is_chunked, whole[:500]
            size = int(length[1]) if length is not None else 0
            self._missing = 1 if self._is_chunked else end + len(_HEAD_END) + size - len(whole)
        elif not self._is_chunked:
            self._missing -= len(data)
        if self._is_chunked and b"".join(self._pieces[-len(_LAST_CHUNK) :]).endswith(_LAST_CHUNK):
            self._missing = 0
        if self._missing == 0 and self._answer is not None:
            answer, self._pieces, self._missing = b"".join(self._pieces), [], -1
            self._is_chunked = False
            self._answer.set_result(answer)

    def _count(self, data: bytes) -> None:
        if self._answer is not None:
            self._answer.set_result(data)
            self._answer = None
            return
        # Every event ends its line, every chunk its own; a chunk's head has one more.
        self.lines += data.count(b"}\n")
        self.bytes += len(data)
        now = time.monotonic_ns()
        self.latencies_s += [(now - int(sent)) / 1e9 for sent in _SENT.findall(data)]


@asynccontextmanager
async def thrown_away(connections: list[Connection]) -> AsyncIterator[None]:
    """What comes for these is taken off their sockets twenty times a second.

    Watchers on machines of their own would cost this one nothing. Here hundreds of them would take
    a core to decrypt, of the two that there are, and the server to wake them.
    """

    async def sweep() -> None:
        while True:
            for connection in connections:
                connection.throw_away()
            await asyncio.sleep(_SWEEP_S)

    for connection in connections:
        connection.transport.pause_reading()
    sweeping = asyncio.create_task(sweep())
    try:
        yield
    finally:
        sweeping.cancel()
        await asyncio.wait([sweeping])


def body_of(answer: bytes) -> bytes:
    """Without the head, and in one piece, as a server may send it in chunks."""
    head, _, rest = answer.partition(_HEAD_END)
    if _CHUNKED.search(head) is None:
        return rest
    pieces = []
    size = -1
    while size:
        written, _, rest = rest.partition(b"\r\n")
        size = int(written, 16)
        pieces.append(rest[:size])
        rest = rest[size + len(b"\r\n") :]
    return b"".join(pieces)


async def closed_loop(
    connections: list[Connection],
    seconds: float,
    step: Callable[[Connection, int], Awaitable[object]],
) -> int:
    """Every connection asks again as soon as it is answered; how many answers that made."""
    ends = time.monotonic() + seconds
    done = 0

    async def one(connection: Connection) -> None:
        nonlocal done
        while time.monotonic() < ends:
            done += 1
            await step(connection, done)

    async with asyncio.TaskGroup() as group:
        for connection in connections:
            group.create_task(one(connection))
    return done


async def each(connections: list[Connection], requests: list[bytes]) -> int:
    """Every request once, by whichever connection is free."""
    waiting = iter(requests)

    async def one(connection: Connection) -> None:
        for request in waiting:
            await connection.ask(request)

    async with asyncio.TaskGroup() as group:
        for connection in connections:
            group.create_task(one(connection))
    return len(requests)
