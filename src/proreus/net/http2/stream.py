"""One stream of HTTP/2: a request and its answer, and the transport that its handler writes on.

To handlers it is what an HTTP/1.1 connection with one request is: ``carrier`` has what they share.
What the client has no window for, and what the connection cannot send, waits in the stream's own
transport, so that a slow reader is known by its stream and holds up no other.
"""

from __future__ import annotations

import asyncio
from collections import deque
from typing import TYPE_CHECKING, Any

from proreus.net.http1.carrier import Carrier, Headers
from proreus.net.http1.messages import (
    NO_BODY,
    ChunkedStream,
    Head,
    Request,
    RequestBody,
    Response,
    Streamed,
)
from proreus.net.http1.request_body import IncomingBody
from proreus.net.http2.events import BodyReceived, StreamFlow
from proreus.net.http2.frames import ErrorCode
from proreus.net.http2.header_blocks import CONTINUE, answer_block

if TYPE_CHECKING:
    from proreus.net.http2.connection import Http2Connection

Buffer = bytes | bytearray | memoryview


class StreamTransport(asyncio.Transport):
    """Open, then ended or reset: then nothing more is written. ``queue`` is what waits."""

    def __init__(self, connection: Http2Connection, flow: StreamFlow, protocol: Carrier) -> None:
        super().__init__()
        self.flow = flow
        self.queue: deque[Buffer] = deque()
        self.is_ended = False  # the last of ``queue`` is the end of the answer
        self._queued = 0
        self._connection = connection
        self._protocol = protocol
        self._is_closing = self._is_paused = False

    def write(self, data: Buffer) -> None:
        if data and not self._is_closing:
            self.queue.append(data)
            self._queued += len(data)
            self._send()

    def end(self, data: bytes = b"") -> None:
        """Write ``data``, and that is all."""
        if not self._is_closing:
            self._is_closing = self.is_ended = True
            self.queue.append(data)
            self._queued += len(data)
            self._send()

    def _send(self) -> None:
        self._connection.send_from(self)
        if self._queued and not self._is_paused:
            self._is_paused = True
            self._protocol.pause_writing()

    def taken(self, size: int) -> bytes | memoryview:
        """The next ``size`` bytes, which all belong to the first piece that waits."""
        first = self.queue.popleft()
        if size < len(first):
            view = memoryview(first)
            self.queue.appendleft(view[size:])
            first = view[:size]
        self._queued -= size
        if not self._queued and self._is_paused:
            self._is_paused = False
            self._protocol.resume_writing()
        return bytes(first) if isinstance(first, bytearray) else first

    def get_write_buffer_size(self) -> int:
        return self._queued

    def set_write_buffer_limits(self, high: int | None = None, low: int | None = None) -> None:
        """There is room while nothing waits."""

    def is_closing(self) -> bool:
        return self._is_closing

    def close(self) -> None:
        self.end()

    def abort(self) -> None:
        """An answer that is not whole must not seem so. Without effect once it has left."""
        self._connection.reset(self.flow, ErrorCode.INTERNAL_ERROR)
        self.drop()

    def drop(self) -> None:
        """The stream is over."""
        self._is_closing = True
        self.queue.clear()
        self._queued = 0
        if self._is_paused:
            self._is_paused = False
            self._protocol.resume_writing()

    def get_extra_info(self, name: str, default: Any = None) -> Any:
        found = self._connection.transport
        return default if found is None else found.get_extra_info(name, default)


class Http2Stream(Carrier):
    """Its task begins with it, and ends with its answer or when its client takes it back."""

    def __init__(
        self, connection: Http2Connection, flow: StreamFlow, head: Head, *, has_body: bool
    ) -> None:
        super().__init__(connection.server, connection.loop)
        self.flow = flow
        self._connection = connection
        self.out = StreamTransport(connection, flow, self)
        self.transport = self.out
        self._arriving = _Arriving()
        self._body = IncomingBody(self, self._arriving) if has_body else None
        self._unread = 0  # bytes of the body
        self._has_begun = False  # its answer
        self.task = connection.loop.create_task(self._serve(head, self._body or NO_BODY))

    # From the connection

    def received(self, event: BodyReceived) -> None:
        if self._body is not None:
            self._unread += len(event.data)
            self._arriving.is_done = event.is_last
            self._body.feed(event.data)

    def lost(self) -> None:
        """The client has taken its request back, or is gone."""
        self.transport = None
        self.out.drop()
        self.resume_writing()
        self.task.cancel()

    # Of the body: what is read is credited to the client.

    def hold(self) -> None:
        """The window keeps the client from sending more."""

    def release(self) -> None:
        if self._unread:
            self._connection.credit(self.flow, self._unread)
            self._unread = 0

    # Serving

    async def _serve(self, head: Head, body: RequestBody) -> None:
        try:
            request = Request(self, head, body)
            answer = await self.handled(request)
            if isinstance(answer, Response) and not self._has_begun:
                await self.send(request, answer, last=False)
            elif isinstance(answer, Streamed) and answer.keep_alive:
                self.out.end()
            else:
                self.out.abort()  # it failed, or broke off, when its head was sent already
            if self._room is not None:
                await self.drain()
        except ConnectionError:
            self.out.abort()
        except asyncio.CancelledError:
            self.out.abort()
            raise
        finally:
            self.release()
            self._connection.done(self)

    # How an answer looks on the wire

    def send_whole(
        self,
        request: Request,
        answer: Response,
        body: bytes | None,
        size: int | None,
        *,
        last: bool,
    ) -> None:
        block = answer_block(answer.status, answer.headers, self.server.date(), size)
        self._begin(block, ends=not body)
        if body:
            self.out.end(body)

    def send_head(
        self, request: Request, answer: Response, size: int | None, *, last: bool
    ) -> None:
        self._begin(answer_block(answer.status, answer.headers, self.server.date(), size))

    def send_piece(self, piece: bytes | memoryview) -> None:
        self.out.write(piece)

    def send_end(self) -> None:
        self.out.end()

    def open_stream(self, request: Request, headers: Headers, status: int) -> ChunkedStream:
        self._begin(answer_block(status, headers, self.server.date()))
        return ChunkedStream(self.out, chunked=False)

    def send_continue(self) -> None:
        self.require_transport()
        self._connection.send_head(self.flow, CONTINUE, ends=False)

    def _begin(self, block: bytes, *, ends: bool = False) -> None:
        self.require_transport()
        self._has_begun = True
        self._connection.send_head(self.flow, block, ends=ends)
        if ends:
            self.out.drop()

    def __repr__(self) -> str:
        return f"<Http2Stream {self.flow.number}: {self.out.get_write_buffer_size()} B wait>"


class _Arriving:
    """The framing of a body: what comes is all of it, until its last frame has come."""

    def __init__(self) -> None:
        self.is_done = False

    def take(self, data: bytes) -> tuple[bytes, bytes]:
        return data, b""
