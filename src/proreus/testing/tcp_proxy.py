"""A real TCP proxy that misbehaves on demand: what networks do to a watch, as verbs.

    async with TcpProxy("127.0.0.1", server_port) as proxy:
        client = connect(proxy.host, proxy.port)
        proxy.black_hole()      # nothing passes, nothing ends; ``restore`` lets it all through
        proxy.cut()             # every connection is reset

It works below HTTP and TLS, so any client of any language can be put behind it.
"""

from __future__ import annotations

import asyncio
import contextlib
import socket
import struct
from types import TracebackType

from proreus.aio.clock import Clock, SystemClock
from proreus.aio.gate import Gate
from proreus.testing.virtual_clock import seconds

_PIECE_BYTES = 64 * 1024
_SLOW_PIECES_PER_S = 20


class _Connection:
    """One client and the connection made for it to the server."""

    def __init__(self, client: asyncio.StreamWriter, server: asyncio.StreamWriter) -> None:
        self.client = client
        self.server = server

    def reset(self) -> None:
        for writer in (self.client, self.server):
            _reset(writer)

    def close(self) -> None:
        for writer in (self.client, self.server):
            writer.close()


class TcpProxy:
    """Forwards bytes between its clients and one server. Use as an async context manager."""

    def __init__(self, server_host: str, server_port: int, *, clock: Clock | None = None) -> None:
        self.host = "127.0.0.1"
        self.port = 0
        self.accepted = 0  # connections so far
        self._server_address = (server_host, server_port)
        self._clock: Clock = clock or SystemClock()
        self._listener: asyncio.Server | None = None
        self._reserved: socket.socket | None = None  # holds the port while nobody listens
        self._connections: set[_Connection] = set()
        self._serving: set[asyncio.Task[None]] = set()
        self._is_ending = False
        self._flow = Gate(is_open=True)
        self._bytes_per_s: float | None = None
        self._latency_s = 0.0
        self._left_before_cut: int | None = None

    async def __aenter__(self) -> TcpProxy:
        await self.listen()
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        exc: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._is_ending = True
        await self.refuse()
        self._release()
        self.restore()
        for task in tuple(self._serving):
            task.cancel()
        await asyncio.gather(*self._serving, return_exceptions=True)

    @property
    def open_connections(self) -> int:
        return len(self._connections)

    # What can go wrong.

    def cut(self) -> None:
        """Reset every connection: both ends get an error at once."""
        for connection in tuple(self._connections):
            connection.reset()

    def cut_after(self, byte_count: int) -> None:
        """Reset everything once the server has sent so many more bytes, wherever that is."""
        self._left_before_cut = byte_count

    def close(self) -> None:
        """End every connection in good order, as a load balancer does that has had enough."""
        for connection in tuple(self._connections):
            connection.close()

    def black_hole(self) -> None:
        """Drop everything silently, on new connections too."""
        self._flow.shut()

    def half_open(self) -> None:
        """Drop the server's side and keep the client's, which receives no more, not even an end."""
        self._flow.shut()
        for connection in self._connections:
            _reset(connection.server)

    def slow(self, bytes_per_s: float | None) -> None:
        """Pass the server's bytes in drops; None: at full speed again."""
        self._bytes_per_s = bytes_per_s

    def latency(self, duration: float | str) -> None:
        """Every piece of an answer comes so much later."""
        self._latency_s = seconds(duration)

    def garbage(self, noise: bytes = b"\x00\xff garbage \r\n\r\n") -> None:
        """Send every client bytes that its server never sent."""
        for connection in self._connections:
            connection.client.write(noise)

    async def refuse(self) -> None:
        """Stop listening: who connects now is refused. What is open stays open."""
        listener, self._listener = self._listener, None
        if listener is not None:
            listener.close()
            await asyncio.sleep(0)  # the loop lets go of the listening socket
            self._reserve()

    async def listen(self) -> None:
        """Accept connections, on the same port as before."""
        self._listener = await asyncio.start_server(
            self._accept, self.host, self.port, reuse_address=True, backlog=1024
        )
        self.port = self._listener.sockets[0].getsockname()[1]
        self._release()

    def restore(self) -> None:
        """Undo all that lasts: black hole, slowness, latency, a cut to come."""
        self._bytes_per_s = None
        self._latency_s = 0.0
        self._left_before_cut = None
        self._flow.open()

    # How it works.

    def _reserve(self) -> None:
        """Bound but not listening: nobody else gets the port, and who connects is refused."""
        self._reserved = socket.socket()
        self._reserved.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        self._reserved.bind((self.host, self.port))

    def _release(self) -> None:
        if self._reserved is not None:
            self._reserved.close()
            self._reserved = None

    async def _accept(
        self, from_client: asyncio.StreamReader, to_client: asyncio.StreamWriter
    ) -> None:
        task = asyncio.current_task()
        assert task is not None, "a connection is served by a task"
        self._serving.add(task)
        self.accepted += 1
        try:
            await self._serve(from_client, to_client)
        except asyncio.CancelledError:
            # The stream library takes a cancelled connection for a failed one and complains; here
            # it is just how a proxy ends.
            if not self._is_ending:
                raise
        finally:
            self._serving.discard(task)
            to_client.close()

    async def _serve(
        self, from_client: asyncio.StreamReader, to_client: asyncio.StreamWriter
    ) -> None:
        await self._flow.wait_open()
        try:
            from_server, to_server = await asyncio.open_connection(*self._server_address)
        except OSError:
            _reset(to_client)
            return
        connection = _Connection(to_client, to_server)
        self._connections.add(connection)
        try:
            async with asyncio.TaskGroup() as both:
                both.create_task(self._pump(from_client, to_server))
                both.create_task(self._pump(from_server, to_client, is_answer=True))
        finally:
            self._connections.discard(connection)
            to_server.close()

    async def _pump(
        self, source: asyncio.StreamReader, sink: asyncio.StreamWriter, *, is_answer: bool = False
    ) -> None:
        # Either end may go at any time; that ends this direction and nothing else.
        with contextlib.suppress(OSError):
            while piece := await source.read(self._piece_bytes(is_answer)):
                if is_answer and self._latency_s:
                    await self._clock.sleep(self._latency_s)
                await self._flow.wait_open()
                if is_answer:
                    piece = self._before_cut(piece)
                sink.write(piece)
                await sink.drain()
                if is_answer and self._left_before_cut == 0:
                    self._left_before_cut = None
                    self.cut()
                if is_answer and self._bytes_per_s is not None:
                    await self._clock.sleep(len(piece) / self._bytes_per_s)
        await self._flow.wait_open()
        with contextlib.suppress(OSError):
            if sink.can_write_eof() and not sink.is_closing():
                sink.write_eof()

    def _piece_bytes(self, is_answer: bool) -> int:
        if is_answer and self._bytes_per_s is not None:
            return max(1, int(self._bytes_per_s / _SLOW_PIECES_PER_S))
        return _PIECE_BYTES

    def _before_cut(self, piece: bytes) -> bytes:
        if self._left_before_cut is None:
            return piece
        kept = piece[: self._left_before_cut]
        self._left_before_cut -= len(kept)
        return kept

    def __repr__(self) -> str:
        server = ":".join(map(str, self._server_address))
        return f"<TcpProxy {self.host}:{self.port} to {server}, {self.open_connections} open>"


def _reset(writer: asyncio.StreamWriter) -> None:
    """End a connection with RST, not FIN."""
    sock = writer.get_extra_info("socket")
    if sock is not None:
        with contextlib.suppress(OSError):
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    writer.transport.abort()
