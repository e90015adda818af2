"""A watch over WebSocket: one message per event, the client's messages read and dropped (§5.5).

Frames are written on the transport like chunks are, so a WebSocket watcher costs what a plain one
costs. aiohttp does the handshake and reads; a malformed frame closes the connection.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping

from aiohttp import WSCloseCode, WSMsgType, web

from proreus.net.http_server import Request

_TEXT = 0x81  # final fragment, text
_BINARY = 0x82
_MESSAGE_BYTES_MAX = 64 * 1024


class BadHandshake(Exception):
    """``status`` and text of the plain answer to a request that is no proper upgrade."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status


def is_upgrade(headers: Mapping[str, str]) -> bool:
    return (
        headers.get("Upgrade", "").lower() == "websocket"
        and "upgrade" in headers.get("Connection", "").lower()
    )


class WebSocketStream:
    """An accepted WebSocket; ``write_message`` never waits."""

    def __init__(self, transport: asyncio.Transport, socket: web.WebSocketResponse) -> None:
        self._transport = transport
        self._socket = socket

    @property
    def buffered(self) -> int:
        return self._transport.get_write_buffer_size()

    def write_message(self, payload: bytes, *, binary: bool) -> None:
        if not self._transport.is_closing():
            self._transport.write(_frame(payload, _BINARY if binary else _TEXT))

    def abort(self) -> None:
        self._transport.abort()

    async def wait_client_close(self) -> None:
        """Read and drop what the client sends until it closes or breaks the protocol."""
        while True:
            message = await self._socket.receive()
            if message.type in (
                WSMsgType.CLOSE,
                WSMsgType.CLOSING,
                WSMsgType.CLOSED,
                WSMsgType.ERROR,
            ):
                return

    async def close(self) -> None:
        await self._socket.close(code=WSCloseCode.OK, drain=False)


async def accept(request: Request) -> WebSocketStream:
    """Answer the handshake. Raises BadHandshake."""
    headers = request.headers
    if not headers.get("Sec-WebSocket-Key") or headers.get("Sec-WebSocket-Version") != "13":
        raise BadHandshake(400, "bad websocket handshake")
    if not headers.get("Origin"):
        raise BadHandshake(403, "null origin")
    offered = [
        name.strip()
        for value in headers.getall("Sec-WebSocket-Protocol", ())
        for name in value.split(",")
        if name.strip()
    ]
    if len(offered) > 1:
        raise BadHandshake(400, "more than one websocket protocol offered")
    socket = web.WebSocketResponse(
        protocols=offered, max_msg_size=_MESSAGE_BYTES_MAX, compress=False, timeout=1.0
    )
    try:
        await socket.prepare(request)
    except web.HTTPException as error:
        raise BadHandshake(error.status, error.text or error.reason) from error
    transport = request.transport
    if transport is None:
        raise ConnectionResetError("the client is gone")
    return WebSocketStream(transport, socket)


def _frame(payload: bytes, opcode: int) -> bytes:
    size = len(payload)
    if size < 126:
        return bytes((opcode, size)) + payload
    if size < 65536:
        return bytes((opcode, 126)) + size.to_bytes(2, "big") + payload
    return bytes((opcode, 127)) + size.to_bytes(8, "big") + payload
