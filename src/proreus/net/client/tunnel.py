"""The way to a server through a proxy of HTTP: CONNECT, and then the bytes of TLS."""

from __future__ import annotations

import asyncio

from proreus.net.client.response_head import BadResponse, ResponseHeads
from proreus.net.client.server_address import Origin
from proreus.net.http1.request_head import HEAD_BYTES_MAX, HEAD_END

_REASON_MAX = 200


class RefusedByProxy(Exception):
    """Its status and words, or what it said instead."""


class ProxyTunnel(asyncio.Protocol):
    """Asks as soon as the proxy is connected. ``opened`` is done once the proxy has agreed; else it
    has a RefusedByProxy or an OSError."""

    def __init__(self, loop: asyncio.AbstractEventLoop, origin: Origin, authorization: str) -> None:
        self.opened: asyncio.Future[None] = loop.create_future()
        self._origin = origin
        self._authorization = authorization
        self._said = b""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport), "of a stream socket"
        where = self._origin.authority
        lines = [f"CONNECT {where} HTTP/1.1", f"Host: {where}"]
        if self._authorization:
            lines.append(f"Proxy-Authorization: {self._authorization}")
        transport.write("\r\n".join([*lines, "", ""]).encode())

    def data_received(self, data: bytes) -> None:
        self._said += data
        end = self._said.find(HEAD_END)
        if self.opened.done() or (end < 0 and len(self._said) <= HEAD_BYTES_MAX):
            return
        try:
            _check(self._said, end)
        except RefusedByProxy as refused:
            self.opened.set_exception(refused)
        else:
            self.opened.set_result(None)

    def connection_lost(self, exc: Exception | None) -> None:
        if not self.opened.done():
            why = "the proxy closed the connection"
            self.opened.set_exception(exc or ConnectionResetError(why))


def _check(said: bytes, end: int) -> None:
    """Raises RefusedByProxy."""
    if end < 0:
        raise RefusedByProxy("without end")
    try:
        status = ResponseHeads().read(said, end).status
    except BadResponse as error:
        raise RefusedByProxy(f"what is no HTTP: {error}") from error
    if status != 200:
        line = said[: said.find(b"\r\n")].partition(b" ")[2][:_REASON_MAX]
        raise RefusedByProxy(line.decode("utf-8", "replace"))
    # Servers of TLS do not speak first: whatever this is, it is not the server's.
    if len(said) > end + len(HEAD_END):
        raise RefusedByProxy("more than it was asked for")
