"""A connection whose requests are plain, as nearly all are.

The first one that is not gives the connection over to ``any_connection``, for good: that one loads
aiohttp, which a server that is never asked anything unusual can do without.
"""

from __future__ import annotations

import asyncio
from collections import deque
from typing import TYPE_CHECKING

from proreus.net.http_connection import PIPELINED_MAX, HttpConnection
from proreus.net.http_request import NO_BODY
from proreus.net.plain_http import HEAD_BYTES_MAX, HEAD_END

if TYPE_CHECKING:
    from proreus.net.http_server import HttpServer

_BODY_BUFFER_BYTES = 128 * 1024


class SizedBody:
    """A body whose length was told. Its connection is not read while too much of it waits."""

    def __init__(self, connection: PlainConnection, length: int) -> None:
        self._connection = connection
        self._missing = length
        self._pieces: deque[bytes] = deque()
        self._waiting_bytes = 0
        self._arrival: asyncio.Future[None] | None = None

    def feed(self, data: bytes) -> bytes:
        """Takes what belongs to it; the rest belongs to the next request."""
        if len(data) > self._missing:
            data, rest = data[: self._missing], data[self._missing :]
        else:
            rest = b""
        if not data:
            return rest
        self._missing -= len(data)
        self._pieces.append(data)
        self._waiting_bytes += len(data)
        if self._waiting_bytes > _BODY_BUFFER_BYTES and self._missing:
            self._connection.hold()
        if self._arrival is not None and not self._arrival.done():
            self._arrival.set_result(None)
        return rest

    @property
    def is_complete(self) -> bool:
        return not self._missing

    def is_eof(self) -> bool:
        return not self._missing and not self._pieces

    async def readany(self) -> bytes:
        """What has arrived, waiting for it if need be; b"" at the end.

        A client that leaves ends the task that waits here.
        """
        while not self._pieces:
            if not self._missing:
                return b""
            self._arrival = self._connection.loop.create_future()
            await self._arrival
        found = self._pieces[0] if len(self._pieces) == 1 else b"".join(self._pieces)
        self._pieces.clear()
        self._waiting_bytes = 0
        self._connection.release()
        return found


class PlainConnection(HttpConnection):
    def __init__(self, server: HttpServer, loop: asyncio.AbstractEventLoop) -> None:
        super().__init__(server, loop)
        self._heads = server.heads
        self._unread = b""
        self._body: SizedBody | None = None
        self._is_held = False
        self._is_unusual = False

    def data_received(self, data: bytes) -> None:
        if self._body is None and not self._unread and not self.waiting:
            head = self._heads.find(data)
            if head is not None:
                self.requested(head, NO_BODY)
                return
        if self._body is not None:
            data = self._body.feed(data)
            if not self._body.is_complete:
                return
            self._body = None
        self._unread = self._unread + data if self._unread else data
        self._read_heads()

    def _read_heads(self) -> None:
        while self._unread and self._body is None and not self._is_unusual:
            if len(self.waiting) >= PIPELINED_MAX:
                self.hold()
                return
            end = self._unread.find(HEAD_END)
            is_whole = 0 <= end <= HEAD_BYTES_MAX
            found = self._heads.read(self._unread, end + 4) if is_whole else None
            if found is None:
                if end < 0 and len(self._unread) <= HEAD_BYTES_MAX and self._may_be_plain():
                    return  # the rest of it is still to come
                self._become_any()
                return
            head, length = found
            rest = self._unread[end + 4 :]
            if length:
                body = SizedBody(self, length)
                self._unread = body.feed(rest)
                self._body = None if body.is_complete else body
                self.requested(head, body)
            else:
                self._unread = rest
                self.requested(head, NO_BODY)

    def _may_be_plain(self) -> bool:
        """So that noise is answered at once and not awaited to its end."""
        return self._unread[:1].isalpha()

    def _become_any(self) -> None:
        """Once what was asked before is answered."""
        self._is_unusual = True
        self.hold()
        if not self.is_busy:
            self._give_over()

    def _give_over(self) -> None:
        from proreus.net.any_connection import AnyConnection

        transport, unread = self.require_transport(), self._unread
        self.server.connections.discard(self)
        successor = AnyConnection(self.server, self.loop)
        transport.set_protocol(successor)
        successor.connection_made(transport)
        self.transport, self._unread = None, b""
        transport.resume_reading()
        successor.data_received(unread)

    def read_on(self) -> None:
        if self._is_unusual:
            if not self.waiting:
                self.loop.call_soon(self._give_over_if_here)
        elif self._unread:
            self._read_heads()
            if len(self.waiting) < PIPELINED_MAX:
                self.release()

    def _give_over_if_here(self) -> None:
        if self.transport is not None and not self.transport.is_closing():
            self._give_over()

    def hold(self) -> None:
        if not self._is_held and self.transport is not None:
            self._is_held = True
            self.transport.pause_reading()

    def release(self) -> None:
        if self._is_held and not self._is_unusual and self.transport is not None:
            self._is_held = False
            self.transport.resume_reading()
