"""An accepted WebSocket: messages in, messages out.

Frames are written on the transport like chunks are, so a WebSocket watcher costs what a plain one
costs. aiohttp's reader takes frames apart; a malformed one closes the connection. Loaded with
aiohttp when the first one is accepted.
"""

from __future__ import annotations

import asyncio
import contextlib
from typing import Any, cast

from aiohttp import WSCloseCode, WSMsgType
from aiohttp._websocket.reader import WebSocketDataQueue
from aiohttp.http_websocket import WebSocketError, WebSocketReader
from aiohttp.streams import EofStream

from proreus.net.http_connection import HttpConnection
from proreus.net.http_request import Request

_TEXT = 0x81  # final fragment, text
_BINARY = 0x82
_CLOSE = 0x88
_PING = 0x89
_PONG = 0x8A
_WAITING_BYTES = 64 * 1024
# How long a client may take to answer a close.
_GOODBYE_S = 1.0


class WebSocketStream:
    """An accepted WebSocket; ``write_message`` never waits, ``drain`` does."""

    def __init__(self, request: Request, message_bytes_max: int) -> None:
        self._transport = request.transport
        loop = asyncio.get_running_loop()
        self._connection: HttpConnection = request.take_over(self._take)
        self._messages = WebSocketDataQueue(cast(Any, self._connection), _WAITING_BYTES, loop=loop)
        self._reader = WebSocketReader(
            self._messages, message_bytes_max, compress=False, decode_text=True
        )
        self._has_said_goodbye = False
        self.heard = 0  # frames of any kind
        self.is_waiting = False  # for one

    def _take(self, data: bytes) -> None:
        if data:
            self._reader.feed_data(data)
        else:
            self._reader.feed_eof()

    @property
    def buffered(self) -> int:
        return self._transport.get_write_buffer_size()

    def write_message(self, payload: bytes, *, binary: bool) -> None:
        if not self._transport.is_closing():
            self._transport.write(_frame(payload, _BINARY if binary else _TEXT))

    async def drain(self) -> None:
        """Until the client has taken what was written. Raises ConnectionResetError."""
        await self._connection.drain()

    async def wait_written(self) -> None:
        """As ``drain``, however long it takes."""
        await self._connection.wait_written()

    async def send(self, message: str | bytes) -> None:
        """Returns once there is room for more. Raises ConnectionResetError."""
        if isinstance(message, str):
            self.write_message(message.encode(), binary=False)
        else:
            self.write_message(message, binary=True)
        await self.wait_written()

    async def receive(self) -> str | bytes | None:
        """The client's next message, None when it has closed, is gone or broke the protocol."""
        while True:
            self.is_waiting = True
            try:
                message = await self._messages.read()
            except EofStream:
                return None
            except WebSocketError as error:
                self._say_goodbye(error.code)
                return None
            finally:
                self.is_waiting = False
            self.heard += 1
            if message.type in (WSMsgType.TEXT, WSMsgType.BINARY):
                received: str | bytes = message.data
                return received
            if message.type is WSMsgType.PING:
                self._write_control(_PONG, message.data)
            elif message.type is not WSMsgType.PONG:
                self._say_goodbye(WSCloseCode.OK)
                return None

    async def ping(self) -> None:
        self._write_control(_PING, b"")

    async def wait_client_close(self) -> None:
        """Read and drop what the client sends until it closes or breaks the protocol."""
        while await self.receive() is not None:
            pass

    def abort(self) -> None:
        self._transport.abort()

    async def close(self, code: int = WSCloseCode.OK) -> None:
        """Say goodbye and wait a moment for the client's."""
        if not self._has_said_goodbye:
            self._say_goodbye(code)
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(_GOODBYE_S):
                    await self.wait_client_close()

    def _say_goodbye(self, code: int) -> None:
        if not self._has_said_goodbye:
            self._has_said_goodbye = True
            self._write_control(_CLOSE, code.to_bytes(2, "big"))

    def _write_control(self, opcode: int, payload: bytes) -> None:
        if not self._transport.is_closing():
            self._transport.write(_frame(bytes(payload), opcode))


def _frame(payload: bytes, opcode: int) -> bytes:
    size = len(payload)
    if size < 126:
        return bytes((opcode, size)) + payload
    if size < 65536:
        return bytes((opcode, 126)) + size.to_bytes(2, "big") + payload
    return bytes((opcode, 127)) + size.to_bytes(8, "big") + payload
