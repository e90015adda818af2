"""Calls to one address: connects when it is called, and anew when the connection is over."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import AsyncIterator, Coroutine
from contextlib import asynccontextmanager

from proreus.aio.clock import Clock, deadline
from proreus.lazy_dataclass import dataclass
from proreus.net.grpc.connection import Connection, MessageStream
from proreus.net.grpc.failures import Code, RpcFailed
from proreus.net.grpc.header_blocks import Metadata, request_block

_NO_BLOCK: tuple[Metadata | None, bytes] = (None, b"")
_CLOSING_S = 1.0


@dataclass(frozen=True, slots=True)
class GrpcTarget:
    """Where a server is; ``tls`` None: it speaks plain text."""

    host: str
    port: int
    tls: ssl.SSLContext | None = None

    @property
    def authority(self) -> str:
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"


class Channel:
    """See the module. ``timeout_s`` is the time of a call, and that of connecting for it.

    Nothing is tried twice: a call that finds no connection, or loses it, fails, and its failure
    says whether it was sent.
    """

    def __init__(self, target: GrpcTarget, clock: Clock, timeout_s: float) -> None:
        self._target = target
        self._clock = clock
        self._timeout_s = timeout_s
        self._connection: Connection | None = None
        self._leaving: set[Connection] = set()  # usable for calls that are on them, until they end
        self._connecting = asyncio.Lock()
        # Of calls, by path: the block, and the metadata it was made of.
        self._blocks: dict[str, tuple[Metadata, bytes]] = {}
        self._is_closed = False

    def call(self, path: str, request: bytes, metadata: Metadata) -> Coroutine[None, None, bytes]:
        """Raises RpcFailed. Metadata that is the same object again costs no encoding."""
        block_metadata, block = self._blocks.get(path, _NO_BLOCK)
        if block_metadata is not metadata:
            block = self._block(path, metadata, self._timeout_s)
            self._blocks[path] = metadata, block
        connection = self._connection
        if connection is None or not connection.is_usable:
            return self._call_connected(block, request)
        return connection.call(block, request)

    async def _call_connected(self, block: bytes, request: bytes) -> bytes:
        connection = await self._connected()
        return await connection.call(block, request)

    @asynccontextmanager
    async def stream(
        self, path: str, request: bytes, metadata: Metadata, *, ends: bool = False
    ) -> AsyncIterator[MessageStream]:
        """A stream of messages both ways that begins with ``request``; ``ends``: it is the only
        one. Raises RpcFailed."""
        connection = await self._connected()
        block = self._block(path, metadata, None)
        async with connection.stream(block, request, ends=ends) as opened:
            yield opened

    async def close(self) -> None:
        """Fails what is under way."""
        self._is_closed = True
        connections = [*self._leaving, *([self._connection] if self._connection else [])]
        for connection in connections:
            connection.close("closed")
        if connections:
            closed = [connection.closed for connection in connections]
            await asyncio.wait(closed, timeout=_CLOSING_S)

    def is_closed(self) -> bool:
        return self._is_closed

    def _block(self, path: str, metadata: Metadata, timeout_s: float | None) -> bytes:
        scheme = "http" if self._target.tls is None else "https"
        return request_block(scheme, self._target.authority, path, metadata, timeout_s)

    async def _connected(self) -> Connection:
        """One connects, and all others who call meanwhile wait for it; each with its own time."""
        try:
            async with deadline(self._clock, self._timeout_s), self._connecting:
                connection = self._connection
                if connection is None or not connection.is_usable:
                    connection = await self._connect()
                return connection
        except TimeoutError:
            raise _no_connection("no answer in time") from None

    async def _connect(self) -> Connection:
        if self.is_closed():
            raise _no_connection("closed")
        if self._connection is not None:
            self._leave(self._connection)
        target, connection = self._target, Connection(self._clock, self._timeout_s)
        try:
            transport, _ = await asyncio.get_running_loop().create_connection(
                lambda: connection,
                target.host,
                target.port,
                ssl=target.tls,
                server_hostname=target.host if target.tls is not None else None,
            )
        except OSError as refused:  # TLS's failures among them
            raise _no_connection(str(refused)) from refused
        try:
            # Only who answers is there: a frozen process leaves its kernel to accept connections.
            failure = _other_protocol(transport) or await connection.ready
        except BaseException:
            connection.close("not ready")
            raise
        if failure is not None:
            connection.close("not ready")
            raise _no_connection(failure.details) from failure
        if self.is_closed():
            connection.close("closed")
            raise _no_connection("closed")
        self._connection = connection
        return connection

    def _leave(self, connection: Connection) -> None:
        self._leaving.add(connection)
        connection.closed.add_done_callback(lambda _: self._leaving.discard(connection))

    def __repr__(self) -> str:
        return f"<Channel to {self._target.authority}: {self._connection}>"


def _other_protocol(transport: asyncio.BaseTransport) -> RpcFailed | None:
    tls = transport.get_extra_info("ssl_object")
    if tls is None or tls.selected_alpn_protocol() == "h2":
        return None
    return RpcFailed(Code.UNAVAILABLE, "the peer speaks no HTTP/2")


def _no_connection(why: str) -> RpcFailed:
    return RpcFailed(Code.UNAVAILABLE, f"failed to connect: {why}", is_unsent=True)
