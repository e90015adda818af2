"""A WebSocket from the client's side: messages in and out, on a connection of ``http_client``.

Reading stops while nobody receives, and ``send`` waits while the server does not read, so that a
relay between two of these holds no more than their buffers.
"""

from __future__ import annotations

import asyncio
import base64
import contextlib
import hashlib
import os
from collections.abc import Mapping, Sequence

import aiohttp
from aiohttp import WSCloseCode, WSMsgType
from aiohttp._websocket.reader import WebSocketDataQueue
from aiohttp.http_websocket import WebSocketError, WebSocketReader, WebSocketWriter
from aiohttp.streams import EofStream

from proreus.net.transport_error import ConnectionLost, ProtocolError
from proreus.net.websocket import KEY_SUFFIX

_WAITING_BYTES = 64 * 1024
_GOODBYE_S = 1.0


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

    def chosen(self, url: str, answered: Mapping[str, str]) -> str:
        """The protocol the server chose, "" for none. Raises ProtocolError."""
        digest = hashlib.sha1(self._key + KEY_SUFFIX, usedforsecurity=False).digest()
        if answered.get("Sec-WebSocket-Accept", "").encode() != base64.b64encode(digest):
            raise ProtocolError(url, "the server's answer to the WebSocket handshake is wrong")
        chosen = answered.get("Sec-WebSocket-Protocol", "").strip()
        if chosen and chosen not in self._protocols:
            raise ProtocolError(url, f"the server chose the protocol {chosen!r} unasked")
        return chosen


class ClientWebSocket:
    """An open WebSocket; ``protocol`` is the one the server chose. One task receives."""

    def __init__(
        self, url: str, response: aiohttp.ClientResponse, protocol: str, message_bytes_max: int
    ) -> None:
        connection = response.connection
        if connection is None or connection.protocol is None or connection.transport is None:
            raise ConnectionLost(url, "the server closed the connection after the handshake")
        self.protocol = protocol
        self.url = url
        self._transport = connection.transport
        loop = asyncio.get_running_loop()
        self._messages = WebSocketDataQueue(connection.protocol, _WAITING_BYTES, loop=loop)
        self._reader = WebSocketReader(
            self._messages, message_bytes_max, compress=False, decode_text=True
        )
        self._writer = WebSocketWriter(connection.protocol, self._transport, use_mask=True)
        self._has_said_goodbye = False
        self.heard = 0  # frames of any kind
        self.is_waiting = False  # for one
        connection.protocol.set_parser(self._reader, self._messages)

    async def receive(self) -> str | bytes | None:
        """The next message, None once the server has closed. Raises ConnectionLost, ProtocolError
        if it went without closing."""
        while True:
            self.is_waiting = True
            try:
                message = await self._messages.read()
            except EofStream as error:
                raise self._lost() from error
            except WebSocketError as error:
                await self._say_goodbye(error.code)
                raise ProtocolError(self.url, str(error)) from error
            finally:
                self.is_waiting = False
            self.heard += 1
            if message.type in (WSMsgType.TEXT, WSMsgType.BINARY):
                received: str | bytes = message.data
                return received
            if message.type is WSMsgType.PING:
                await self._write(bytes(message.data), WSMsgType.PONG)
            elif message.type is not WSMsgType.PONG:
                await self._say_goodbye(WSCloseCode.OK)
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
        """Say goodbye and wait a moment for the server's. Idempotent."""
        if self._has_said_goodbye:
            return
        with contextlib.suppress(TimeoutError, ConnectionLost, ProtocolError):
            async with asyncio.timeout(_GOODBYE_S):
                await self._say_goodbye(code)
                while await self.receive() is not None:
                    pass

    async def _say_goodbye(self, code: int) -> None:
        if not self._has_said_goodbye:
            self._has_said_goodbye = True
            with contextlib.suppress(ConnectionLost):
                await self._write(code.to_bytes(2, "big"), WSMsgType.CLOSE)

    async def _write(self, payload: bytes, kind: WSMsgType) -> None:
        try:
            await self._writer.send_frame(payload, kind)
        except (aiohttp.ClientError, OSError) as error:
            raise self._lost() from error

    def _lost(self) -> ConnectionLost:
        return ConnectionLost(self.url, "the server closed the connection in the middle")
