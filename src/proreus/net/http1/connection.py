"""One client's connection: its requests are handled one after another and answered in order.

``request_reader`` is the other half of it: how requests are read. ``carrier`` has what HTTP/2 does
in the same way.

Invariant: whatever arrives, the handler is called at most once per request and answers exactly one
response; a connection that breaks the protocol is answered 400 (or dropped) and closed. The task of
a connection is cancelled when its client leaves. Cost: about 15 µs of CPU per request.
"""

from __future__ import annotations

import asyncio
import socket
from collections import deque
from typing import TYPE_CHECKING, cast

from proreus.lazy_dataclass import dataclass
from proreus.net.http1.carrier import Carrier, Headers
from proreus.net.http1.messages import (
    LAST_CHUNK,
    BodyUnreadable,
    ChunkedStream,
    Chunks,
    Head,
    Request,
    RequestBody,
    Response,
    Streamed,
    chunk_of,
    head_of,
)

if TYPE_CHECKING:
    from proreus.net.http1.server import HttpServer

# Requests a client may send before their turn; then it is not read until some are answered.
PIPELINED_MAX = 16
# What the kernel may hold that was not sent yet. By itself it would take megabytes for a client
# that does not read, and the transport would count them as delivered: a slow watcher would not be
# noticed.
UNSENT_BYTES = 256 * 1024
NOTSENT_LOWAT: int | None = getattr(socket, "TCP_NOTSENT_LOWAT", None)
# How long the rest of a refused body is awaited: many clients read no answer before they have sent.
_LINGER_S = 1.0
_BAD_REQUEST = (
    b"HTTP/1.1 400 Bad Request\r\nContent-Type: text/plain; charset=utf-8\r\n"
    b"Content-Length: 15\r\nConnection: close\r\n\r\n400 Bad Request"
)


@dataclass(frozen=True, slots=True)
class _NoRequest:
    """In the place of a request: what came could not be read."""


_NO_REQUEST = _NoRequest()


class HttpConnection(Carrier, asyncio.Protocol):
    """``idle_since``: when it was last at work, unless ``is_busy``.

    Its reader calls ``requested`` for each request it has read, ``broken`` when what it reads is
    none. ``read_on`` is called when a request was answered.
    """

    def __init__(self, server: HttpServer, loop: asyncio.AbstractEventLoop) -> None:
        super().__init__(server, loop)
        self.waiting: deque[tuple[Head, RequestBody] | _NoRequest] = deque()
        self.idle_since = server.clock.monotonic()
        self._task: asyncio.Task[None] | None = None  # from the first request on
        self._rest: asyncio.Future[None] | None = None  # while it waits for the next one
        self._is_chunked = False  # the answer that is being sent

    @property
    def is_busy(self) -> bool:
        return self._task is not None and self._rest is None

    # From the transport

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = cast(asyncio.Transport, transport)
        self.server.connections.add(self)
        # Room is there once all is sent: the rest of a slice is no work for another's turn.
        self.transport.set_write_buffer_limits(0)
        if NOTSENT_LOWAT is not None:
            connected = transport.get_extra_info("socket")
            connected.setsockopt(socket.IPPROTO_TCP, NOTSENT_LOWAT, UNSENT_BYTES)

    def connection_lost(self, exc: BaseException | None) -> None:
        self.transport = None
        self.server.connections.discard(self)
        self.waiting.clear()
        self.resume_writing()
        if self._task is not None:
            self._task.cancel()

    # From the reader

    def requested(self, head: Head, body: RequestBody) -> None:
        self.waiting.append((head, body))
        if self._task is None:
            self._task = self.loop.create_task(self._serve())
        elif (rest := self._rest) is not None:
            self._rest = None
            if not rest.done():  # else its task is being cancelled
                rest.set_result(None)

    def broken(self) -> None:
        """What comes is no HTTP: the last answer says so."""
        if not self.is_busy:
            self._refuse()
        else:
            self.waiting.append(_NO_REQUEST)

    def read_on(self) -> None:
        """A request was answered: what waited for that may be read."""

    # Serving

    async def _serve(self) -> None:
        """Requests in order, as long as the connection lasts. A task for each would cost twice
        what waiting for the next one does."""
        try:
            while self.transport is not None:
                if not self.waiting:
                    self.idle_since = self.server.clock.monotonic()
                    self._rest = rest = self.loop.create_future()
                    self.server.request_done()
                    await rest  # no deadline: the server drops connections that are idle for long
                    continue
                request = self.waiting.popleft()
                if isinstance(request, _NoRequest):
                    self._refuse()
                    return
                if not await self._answer(*request):
                    self.close()
                    return
                self.read_on()
        except ConnectionError:
            self.close()  # the client is gone
        except asyncio.CancelledError:
            if self.transport is not None and self._rest is None:
                self.transport.abort()  # in the middle of a request; one that is idle is closed
            raise
        finally:
            self._task = self._rest = None
            self.idle_since = self.server.clock.monotonic()
            self.server.request_done()

    async def _answer(self, head: Head, body: RequestBody) -> bool:
        """Whether the connection may carry another request."""
        request = Request(self, head, body)
        answer = await self.handled(request)
        keep_alive = not (head.should_close or self.server.is_ending)
        if isinstance(answer, Streamed):
            keep_alive = keep_alive and answer.keep_alive
        else:
            if answer.close or (head.version < (1, 1) and isinstance(answer.body, Chunks)):
                keep_alive = False  # of a body without a length only the end of all tells the end
            await self.send(request, answer, last=not keep_alive)
        if not body.is_eof():
            return await self._skip(body) and keep_alive
        return keep_alive

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
        head = self._head(request, answer, last=last)
        if size is None:
            data = b"%b\r\n%b" % (head, body or b"")
        else:
            data = b"%bContent-Length: %d\r\n\r\n%b" % (head, size, body or b"")
        self.require_transport().write(data)

    def send_head(
        self, request: Request, answer: Response, size: int | None, *, last: bool
    ) -> None:
        head = self._head(request, answer, last=last)
        self._is_chunked = size is None and request.version >= (1, 1)
        if size is not None:
            head = b"%bContent-Length: %d\r\n" % (head, size)
        elif self._is_chunked:
            head += b"Transfer-Encoding: chunked\r\n"
        self.require_transport().write(head + b"\r\n")

    def send_piece(self, piece: bytes | memoryview) -> None:
        self.require_transport().write(chunk_of(bytes(piece)) if self._is_chunked else piece)

    def send_end(self) -> None:
        if self._is_chunked:
            self.require_transport().write(LAST_CHUNK)

    def open_stream(self, request: Request, headers: Headers, status: int) -> ChunkedStream:
        transport, date = self.require_transport(), self.server.date()
        chunked = request.version >= (1, 1)
        extra = ("Transfer-Encoding", "chunked") if chunked else ("Connection", "close")
        transport.write(head_of(status, (*headers, extra), date) + b"\r\n")
        return ChunkedStream(transport, chunked=chunked)

    def send_continue(self) -> None:
        self.require_transport().write(b"HTTP/1.1 100 Continue\r\n\r\n")

    def _head(self, request: Request, answer: Response, *, last: bool) -> bytes:
        head = head_of(answer.status, answer.headers, self.server.date())
        if last:
            return head + b"Connection: close\r\n"
        return head + b"Connection: keep-alive\r\n" if request.version < (1, 1) else head

    async def _skip(self, body: RequestBody) -> bool:
        """Read and drop the rest of a body that was not read; whether it came to its end."""
        try:
            async with asyncio.timeout(_LINGER_S):
                while not body.is_eof():
                    await body.readany()
        except (TimeoutError, BodyUnreadable):
            return False
        return True

    def _refuse(self) -> None:
        if self.transport is not None:
            self.transport.write(_BAD_REQUEST)
            self.transport.close()

    def finish(self) -> None:
        """Nothing to say: an answer that is the last has told its client."""

    def drop(self) -> None:
        """It was idle for too long."""
        self.require_transport().abort()

    def close(self) -> None:
        if self.transport is not None:
            self.transport.close()

    async def end(self) -> None:
        """Cancel what is at work and wait for it."""
        task = self._task
        if task is not None:
            task.cancel()
            await asyncio.wait([task])
        self.close()
