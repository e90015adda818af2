"""A connection on which anything may come that HTTP/1.1 allows: chunks, upgrades, expectations.

aiohttp's parser (C) reads it. Loaded with aiohttp when a connection first needs it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, cast

from aiohttp.http_exceptions import HttpProcessingError
from aiohttp.http_parser import HttpRequestParser, RawRequestMessage
from aiohttp.streams import EMPTY_PAYLOAD, StreamReader
from aiohttp.web_protocol import RequestPayloadError

from proreus.net.http_connection import PIPELINED_MAX, HttpConnection
from proreus.net.http_request import NO_BODY, Body, BodyUnreadable, Head
from proreus.net.plain_http import HEAD_BYTES_MAX

if TYPE_CHECKING:
    from proreus.net.http_server import HttpServer

_HEADERS_MAX = 200
_BUFFER_BYTES = 64 * 1024


class _StreamedBody:
    """aiohttp's reader, with its failures told as ours."""

    def __init__(self, reader: StreamReader) -> None:
        self._reader = reader

    def is_eof(self) -> bool:
        return self._reader.is_eof()

    async def readany(self) -> bytes:
        try:
            return await self._reader.readany()
        except (RequestPayloadError, HttpProcessingError, ValueError) as error:
            raise BodyUnreadable(str(error)) from error


class _Incoming:
    """The body that is being received. The parser reads on for ever where no byte of it comes: in
    the line that begins a chunk, and behind the last one."""

    def __init__(self, body: StreamReader = EMPTY_PAYLOAD) -> None:
        self._body = body
        self._size = 0
        self._beside_bytes = 0  # received since it last grew

    def came_on(self, received: int) -> bool:
        """Whether it may go on; if not, who waits for the body is told."""
        if self._body.is_eof() or self._body.total_bytes > self._size:
            self._size, self._beside_bytes = self._body.total_bytes, 0
            return True
        self._beside_bytes += received
        if self._beside_bytes <= HEAD_BYTES_MAX:
            return True
        self._body.set_exception(RequestPayloadError("a chunk begins with a line without end"))
        return False


class AnyConnection(HttpConnection):
    """To the parser and its streams it is the protocol they pause and resume."""

    def __init__(self, server: HttpServer, loop: asyncio.AbstractEventLoop) -> None:
        super().__init__(server, loop)
        self._parser = HttpRequestParser(
            cast(Any, self),
            loop,
            _BUFFER_BYTES,
            max_line_size=HEAD_BYTES_MAX,
            max_field_size=HEAD_BYTES_MAX,
            max_headers=_HEADERS_MAX,
            payload_exception=RequestPayloadError,
            max_msg_queue_size=PIPELINED_MAX,
        )
        self._incoming = _Incoming()
        self._receive: Callable[[bytes], object] | None = None
        self._is_upgraded = False
        self._tail = b""
        self._is_held = False
        self._reading_paused = False  # read by aiohttp's streams under this name

    def data_received(self, data: bytes) -> None:
        if self._receive is not None:
            self._receive(data)
        elif self._is_upgraded:
            self._keep_tail(data)
        elif not self.is_broken:
            self._parse(data)

    def connection_lost(self, exc: BaseException | None) -> None:
        super().connection_lost(exc)
        if self._receive is not None:
            self._receive(b"")

    def _parse(self, data: bytes) -> None:
        try:
            messages, upgraded, tail = self._parser.feed_data(data)
        except HttpProcessingError:
            self.broken()
            return
        for message, body in messages:
            self.requested(_head(message), _body(body))
            self._incoming = _Incoming(body)
        if not self._incoming.came_on(len(data)):
            self.broken()
            return
        if len(self.waiting) >= PIPELINED_MAX:
            self._hold()
        self._is_upgraded = upgraded
        if upgraded and tail:
            self._keep_tail(tail)

    def _keep_tail(self, data: bytes) -> None:
        """What comes behind an upgrade waits until the handler has taken the connection over."""
        self._tail += data
        if len(self._tail) >= _BUFFER_BYTES:
            self._hold()

    def read_on(self) -> None:
        self._parser.message_consumed()
        if self._is_upgraded and not self.waiting:
            # The upgrade was declined: what came behind it is HTTP after all.
            self._is_upgraded = False
            self._parser.set_upgraded(False)
            tail, self._tail = self._tail, b""
            self._parse(tail)
        if self._is_held and len(self.waiting) <= PIPELINED_MAX // 2:
            self._parse(b"")
            if len(self.waiting) < PIPELINED_MAX:
                self._release()

    def hand_over(self, receive: Callable[[bytes], object]) -> None:
        self._receive = receive
        self._is_upgraded = True
        tail, self._tail = self._tail, b""
        if tail:
            receive(tail)
        self._release()

    # Two may stop the reading: this connection for its own buffers, aiohttp's streams for theirs.

    def _hold(self) -> None:
        if not self._is_held:
            self._is_held = True
            if self.transport is not None:
                self.transport.pause_reading()

    def _release(self) -> None:
        if self._is_held:
            self._is_held = False
            if self.transport is not None and not self._reading_paused:
                self.transport.resume_reading()

    @property
    def connected(self) -> bool:
        return self.transport is not None

    def pause_reading(self) -> None:
        self._reading_paused = True
        if not self._is_upgraded:
            self._parser.pause_reading()
        if self.transport is not None:
            self.transport.pause_reading()

    def resume_reading(self, resume_parser: bool = True) -> None:
        self._reading_paused = False
        if not self._is_upgraded and resume_parser:
            self.data_received(b"")  # what the parser held back
        if self.transport is not None and not self._reading_paused and not self._is_held:
            self.transport.resume_reading()


def _head(message: RawRequestMessage) -> Head:
    return Head(
        message.method, message.path, message.headers, message.version, message.should_close
    )


def _body(reader: StreamReader) -> Body:
    return NO_BODY if reader is EMPTY_PAYLOAD else _StreamedBody(reader)
