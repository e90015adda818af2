"""An accepted WebSocket: messages in, messages out.

Frames are written on the transport like chunks are, so a WebSocket watcher costs what a plain one
costs. A malformed frame closes the connection. Loaded with
aiohttp when the first one is accepted.
"""

from __future__ import annotations

import asyncio
import contextlib
from typing import Any, cast

from aiohttp import WSCloseCode, WSMsgType
from aiohttp.http_websocket import WebSocketError
from aiohttp.streams import EofStream

from proreus.net.http1.carrier import Carrier
from proreus.net.http1.messages import Request
from proreus.net.websocket.frames import ClientFrames, Cut, NotMasked
from proreus.net.websocket.outgoing import frame
from proreus.net.websocket.receiver import CONTENT, WebSocketReceiver

_TEXT, _BINARY, _CLOSE, _PING, _PONG = 0x1, 0x2, 0x8, 0x9, 0xA
# Answers to pings that a client may leave unread. One that pings every five seconds, as Kubernetes'
# clients do, has read nothing for minutes by then.
_PONGS_UNREAD_MAX = 64
# How long a client may take to answer a close.
_CLOSE_S = 1.0


class WebSocketStream(WebSocketReceiver):
    """An accepted WebSocket; ``write_message`` never waits, ``drain`` does."""

    def __init__(self, request: Request, message_bytes_max: int, cut: Cut | None = None) -> None:
        super().__init__(cast(Any, request.carrier), message_bytes_max)
        self._transport = request.transport
        self._connection: Carrier = request.carrier
        self._frames = ClientFrames(cut)
        self._pongs_unread = 0
        # Last: some clients send before they have read our answer to the handshake.
        self._connection.hand_over(self._take)

    def _take(self, data: bytes) -> None:
        if self._messages.exception() is not None:
            return
        if not data:
            self._reader.feed_eof()
            return
        try:
            self._reader.feed_data(self._frames.passed(data))
        except NotMasked:
            why = WebSocketError(WSCloseCode.PROTOCOL_ERROR, "a frame is not masked")
            self._messages.set_exception(why)

    @property
    def buffered(self) -> int:
        return self._transport.get_write_buffer_size()

    def write_message(self, payload: bytes, *, binary: bool) -> None:
        if not self._transport.is_closing():
            self._transport.write(frame(payload, _BINARY if binary else _TEXT))

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
            try:
                message = await self._next()
            except EofStream:
                return None
            except WebSocketError as error:
                self._send_close(error.code)
                return None
            if message.type in CONTENT:
                received: str | bytes = message.data
                return received
            if message.type is WSMsgType.PING:
                if not self._answer_ping(message.data):
                    return None
            elif message.type is not WSMsgType.PONG:
                self._send_close(WSCloseCode.OK)
                return None

    def _answer_ping(self, payload: bytes) -> bool:
        """False if the client does not read the answers: then it is dropped."""
        self._pongs_unread = self._pongs_unread + 1 if self.buffered else 0
        if self._pongs_unread > _PONGS_UNREAD_MAX:
            self.abort()
            return False
        self._write_control(_PONG, payload)
        return True

    async def ping(self) -> None:
        self._write_control(_PING, b"")

    async def wait_client_close(self) -> None:
        """Read and drop what the client sends until it closes or breaks the protocol."""
        while await self.receive() is not None:
            pass

    def abort(self) -> None:
        self._transport.abort()

    async def close(self, code: int = WSCloseCode.OK) -> None:
        """Send a close frame and wait a second for the client's."""
        if not self._close_sent:
            self._send_close(code)
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(_CLOSE_S):
                    await self.wait_client_close()

    def _send_close(self, code: int) -> None:
        if not self._close_sent:
            self._close_sent = True
            self._write_control(_CLOSE, code.to_bytes(2, "big"))

    def _write_control(self, opcode: int, payload: bytes) -> None:
        if not self._transport.is_closing():
            self._transport.write(frame(bytes(payload), opcode))
