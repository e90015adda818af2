"""A request for another protocol (HTTP's Upgrade), and the connection it becomes.

What follows a 101 is passed on as bytes, whatever protocol it is.
"""

from __future__ import annotations

import asyncio
import contextlib
import ssl
from collections.abc import AsyncIterator, Callable, Mapping
from dataclasses import field
from typing import cast

from proreus.lazy_dataclass import dataclass
from proreus.net.client.connection import ClientConnection, IncomingAnswer
from proreus.net.client.connectors import Route
from proreus.net.client.dialing import Dialer
from proreus.net.client.http_client import Headers
from proreus.net.client.response_head import ResponseHead, ResponseHeads
from proreus.net.client.server_address import Origin
from proreus.net.client.transport_error import TransportError
from proreus.net.http1.messages import Request
from proreus.net.http1.request_body import Flow

_BODY_BYTES_MAX = 1024 * 1024  # of an answer that refuses
_UNSENT_BYTES_MAX = 256 * 1024


@dataclass(frozen=True, slots=True)
class UpgradeRequest:
    method: str
    target: str
    headers: Mapping[str, str | list[str]] = field(repr=False)

    def encoded(self) -> bytes:
        lines = [f"{self.method} {self.target} HTTP/1.1"]
        for name, values in self.headers.items():
            lines += [f"{name}: {v}" for v in ([values] if isinstance(values, str) else values)]
        return "\r\n".join([*lines, "", ""]).encode("utf-8", "replace")


class UpgradeAnswer:
    """``status`` 101: the protocol was changed, and ``relay`` passes it on; else ``read_body``."""

    def __init__(
        self, connection: ClientConnection, answer: IncomingAnswer, head: ResponseHead
    ) -> None:
        self.status = head.status
        self.headers = Headers.of_head(head)
        self._connection = connection
        self._answer = answer

    async def read_body(self) -> bytes:
        """Of an answer that is no 101; the first MiB of it. Raises TransportError."""
        pieces, size = [], 0
        while size < _BODY_BYTES_MAX and (piece := await self._answer.read()):
            pieces.append(piece)
            size += len(piece)
        return b"".join(pieces)[:_BODY_BYTES_MAX]

    async def relay(self, request: Request) -> None:
        """Give the client the 101, and then each side what the other sends, until one ends.
        Neither is read faster than the other takes it. Raises ConnectionResetError if the client is
        gone."""
        if request.on_started is not None:
            request.on_started(101)
        request.transport.write(self._encoded_head())
        flow = cast(Flow, request.carrier)  # as every connection that asked for an upgrade
        sender = _ToServer(self._connection, flow)
        request.carrier.hand_over(sender.take)
        async with asyncio.TaskGroup() as both:
            sending = both.create_task(sender.run())
            try:
                while piece := await self._answer.read():
                    request.transport.write(piece)
                    await request.wait_written()
            except TransportError:
                pass  # the server broke off: the client sees its connection end
            finally:
                sending.cancel()

    def _encoded_head(self) -> bytes:
        lines = [f"{name.title()}: {value}\r\n" for name, value in self.headers.pairs()]
        head = "".join(["HTTP/1.1 101 Switching Protocols\r\n", *lines, "\r\n"])
        return head.encode("utf-8", "surrogateescape")


class _ToServer:
    """What a client sends after the upgrade."""

    def __init__(self, server: ClientConnection, client: Flow) -> None:
        self._server = server
        self._client = client
        self._full = asyncio.Event()

    def take(self, data: bytes) -> None:
        transport = self._server.transport
        if transport is None or transport.is_closing():
            return
        if not data:
            transport.close()
            return
        transport.write(data)
        if transport.get_write_buffer_size() > _UNSENT_BYTES_MAX:
            self._client.hold()
            self._full.set()

    async def run(self) -> None:
        """Read on once the server has taken what was sent; for ever."""
        while True:
            await self._full.wait()
            self._full.clear()
            await self._server.wait_room()
            self._client.release()


@contextlib.asynccontextmanager
async def ask_upgrade(
    address: tuple[str, int],
    asked: UpgradeRequest,
    context: ssl.SSLContext | None,
    server_hostname: str,
    forbid: Callable[[str, int], bool] | None = None,
) -> AsyncIterator[UpgradeAnswer]:
    """Without ``context`` it is plain. Raises TransportError; who waits sets the deadline."""
    origin = Origin("http" if context is None else "https", *address)
    route = Route(ssl=context, server_hostname=server_hostname, forbid=forbid)
    async with ask_upgrade_by(route, origin, asked) as answer:
        yield answer


@contextlib.asynccontextmanager
async def ask_upgrade_by(
    route: Route, origin: Origin, asked: UpgradeRequest
) -> AsyncIterator[UpgradeAnswer]:
    """Over a connection of its own, which is closed at the end. Raises TransportError."""
    url = f"{origin.scheme}://{origin.authority}{asked.target}"
    connection = await Dialer(route, ResponseHeads()).dial(origin, url)
    try:
        answer = connection.send(url, asked.method, asked.encoded(), None)
        answer.may_switch = True
        yield UpgradeAnswer(connection, answer, await answer.wait_head())
    finally:
        connection.abort()
