"""A WebSocket from the client's side: messages in and out, on a connection of ``http_client``.

Reading stops while no task receives, and ``send`` waits while the server does not read, so that a
relay between two of these holds no more than their buffers.
"""

from __future__ import annotations

import asyncio
import base64
import contextlib
import hashlib
import os
from collections.abc import Mapping, Sequence
from typing import Any, cast

from aiohttp import WSCloseCode, WSMsgType
from aiohttp.http_websocket import WebSocketError
from aiohttp.streams import EofStream

from proreus.net.client.http_client import ByteStream, Headers
from proreus.net.client.transport_error import ConnectionLost, ProtocolError
from proreus.net.websocket.handshake import KEY_SUFFIX
from proreus.net.websocket.outgoing import masked_frame
from proreus.net.websocket.receiver import CONTENT, WebSocketReceiver

_CLOSE_S = 1.0


class Handshake:
    """What is asked of the server, and whether its answer fits."""

    def __init__(self, protocols: Sequence[str]) -> None:
        self._protocols = protocols
        self._key = base64.b64encode(os.urandom(16))

    def headers(self) -> Mapping[str, str]:
        asked = {
            "Upgrade": "websocket",
            "Connection": "Upgrade",
            "Sec-WebSocket-Version": "13",
            "Sec-WebSocket-Key": self._key.decode(),
        }
        if self._protocols:
            asked["Sec-WebSocket-Protocol"] = ", ".join(self._protocols)
        return asked

    def chosen(self, url: str, answered: Headers) -> str:
        """The protocol the server chose, "" for none. Raises ProtocolError."""
        digest = hashlib.sha1(self._key + KEY_SUFFIX, usedforsecurity=False).digest()
        if answered.get("Sec-WebSocket-Accept").encode() != base64.b64encode(digest):
            raise ProtocolError(url, "the server's answer to the WebSocket handshake is wrong")
        chosen = answered.get("Sec-WebSocket-Protocol").strip()
        if chosen and chosen not in self._protocols:
            raise ProtocolError(url, f"the server chose the protocol {chosen!r} unasked")
        return chosen


class ClientWebSocket(WebSocketReceiver):
    """An open WebSocket; ``protocol`` is the one the server chose. One task receives."""

    def __init__(self, url: str, opened: ByteStream, protocol: str, message_bytes_max: int) -> None:
        # What the queue of messages asks of a connection is there.
        super().__init__(cast(Any, opened.connection), message_bytes_max)
        self.protocol = protocol
        self.url = url
        self._connection = opened.connection
        self._connection.hand_over(opened.answer, self._take)

    def _take(self, data: bytes) -> None:
        if self._messages.exception() is None:
            if data:
                self._reader.feed_data(data)
            else:
                self._reader.feed_eof()

    async def receive(self) -> str | bytes | None:
        """The next message, None once the server has closed. Raises ConnectionLost, ProtocolError
        if it went without closing."""
        while True:
            try:
                message = await self._next()
            except EofStream as error:
                raise self._lost() from error
            except WebSocketError as error:
                await self._send_close(error.code)
                raise ProtocolError(self.url, str(error)) from error
            if message.type in CONTENT:
                received: str | bytes = message.data
                return received
            if message.type is WSMsgType.PING:
                await self._write(bytes(message.data), WSMsgType.PONG)
            elif message.type is not WSMsgType.PONG:
                await self._send_close(WSCloseCode.OK)
                return None

    async def send(self, message: str | bytes) -> None:
        """Returns once there is room for more. Raises ConnectionLost."""
        if isinstance(message, str):
            await self._write(message.encode(), WSMsgType.TEXT)
        else:
            await self._write(message, WSMsgType.BINARY)

    async def ping(self) -> None:
        """Raises ConnectionLost."""
        await self._write(b"", WSMsgType.PING)

    async def close(self, code: int = WSCloseCode.OK) -> None:
        """Send a close frame and wait a second for the server's. Idempotent."""
        if self._close_sent:
            return
        with contextlib.suppress(TimeoutError, ConnectionLost, ProtocolError):
            async with asyncio.timeout(_CLOSE_S):
                await self._send_close(code)
                while await self.receive() is not None:
                    pass

    async def _send_close(self, code: int) -> None:
        if not self._close_sent:
            self._close_sent = True
            with contextlib.suppress(ConnectionLost):
                await self._write(code.to_bytes(2, "big"), WSMsgType.CLOSE)

    async def _write(self, payload: bytes, kind: WSMsgType) -> None:
        if not self._connection.write(masked_frame(payload, kind, os.urandom(4))):
            raise self._lost()
        await self._connection.wait_room()

    def _lost(self) -> ConnectionLost:
        return ConnectionLost(self.url, "the server closed the connection in the middle")
