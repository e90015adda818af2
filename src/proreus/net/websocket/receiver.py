"""What both ends of a WebSocket do with what arrives; aiohttp's reader takes frames apart."""

from __future__ import annotations

import asyncio

from aiohttp import WSMessage, WSMsgType
from aiohttp._websocket.reader import WebSocketDataQueue
from aiohttp.base_protocol import BaseProtocol
from aiohttp.http_websocket import WebSocketReader, WSMessageTextBytes

_WAITING_BYTES = 64 * 1024
CONTENT = (WSMsgType.TEXT, WSMsgType.BINARY)


class WebSocketReceiver:
    """``heard`` counts frames of any kind, ``is_waiting`` says that a task receives one."""

    def __init__(self, protocol: BaseProtocol, message_bytes_max: int) -> None:
        """``protocol`` is paused while too much waits to be received."""
        loop = asyncio.get_running_loop()
        self._messages = WebSocketDataQueue(protocol, _WAITING_BYTES, loop=loop)
        self._reader = WebSocketReader(
            self._messages, message_bytes_max, compress=False, decode_text=True
        )
        self._close_sent = False
        self.heard = 0
        self.is_waiting = False

    async def _next(self) -> WSMessage | WSMessageTextBytes:
        """Raises EofStream at the end, WebSocketError if the other end breaks the protocol."""
        self.is_waiting = True
        try:
            message = await self._messages.read()
        finally:
            self.is_waiting = False
        self.heard += 1
        return message
