"""One client's connection: its requests are handled one after another and answered in order.

Answers are one write, head and body together; large ones go in slices, each encrypted and sent
before the next, so that a list of many megabytes neither needs its size again in buffers nor keeps
all others waiting: one slice of one answer is sent per turn of the loop (``aio/turns``), or some
if it is the only one.
``request_reader`` is the other half of it: how requests are read.

Invariant: whatever arrives, the handler is called at most once per request and answers exactly one
response; a connection that breaks the protocol is answered 400 (or dropped) and closed. The task of
a connection is cancelled when its client leaves. Cost: about 15 µs of CPU per request.
"""

from __future__ import annotations

import asyncio
import logging
import socket
from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, cast

from proreus.aio.clock import deadline
from proreus.net.http1.messages import (
    LAST_CHUNK,
    BodyUnreadable,
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

_log = logging.getLogger(__name__)

# Requests a client may send before their turn; then it is not read until some are answered.
PIPELINED_MAX = 16
# What the kernel may hold that was not sent yet. By itself it would take megabytes for a client
# that does not read, and the transport would count them as delivered: a slow watcher would not be
# noticed.
_UNSENT_BYTES = 256 * 1024
_NOTSENT_LOWAT: int | None = getattr(socket, "TCP_NOTSENT_LOWAT", None)
_SLICE_BYTES = 96 * 1024  # encrypted and sent in 0.15 to 0.25 ms
_TURN_S = 0.0005  # how long slices follow each other in one turn, if no other answer waits for one
# As long as a request may take; a client that has not read its answer by then never will.
_READ_PATIENCE_S = 60.0
# How long the rest of a refused body is awaited: many clients read no answer before they have sent.
_LINGER_S = 1.0
_BAD_REQUEST = (
    b"HTTP/1.1 400 Bad Request\r\nContent-Type: text/plain; charset=utf-8\r\n"
    b"Content-Length: 15\r\nConnection: close\r\n\r\n400 Bad Request"
)
_FAILED = Response(500, (("Content-Type", "text/plain; charset=utf-8"),), b"500", close=True)


@dataclass(frozen=True, slots=True)
class _NoRequest:
    """In the place of a request: what came could not be read."""


_NO_REQUEST = _NoRequest()


class HttpConnection(asyncio.Protocol):
    """``idle_since``: when it was last at work, unless ``is_busy``.

    Its reader calls ``requested`` for each request it has read, ``broken`` when what it reads is
    none. ``read_on`` is called when a request was answered.
    """

    def __init__(self, server: HttpServer, loop: asyncio.AbstractEventLoop) -> None:
        self.server = server
        self.loop = loop
        self.transport: asyncio.Transport | None = None
        self.waiting: deque[tuple[Head, RequestBody] | _NoRequest] = deque()
        self.idle_since = server.clock.monotonic()
        self._task: asyncio.Task[None] | None = None  # while there are requests to answer
        self._room: asyncio.Future[None] | None = None  # while the client takes no more

    @property
    def is_busy(self) -> bool:
        return self._task is not None

    # From the transport

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = cast(asyncio.Transport, transport)
        self.server.connections.add(self)
        # Room is there once all is sent: the rest of a slice is no work for another's turn.
        self.transport.set_write_buffer_limits(0)
        if _NOTSENT_LOWAT is not None:
            connected = transport.get_extra_info("socket")
            connected.setsockopt(socket.IPPROTO_TCP, _NOTSENT_LOWAT, _UNSENT_BYTES)

    def connection_lost(self, exc: BaseException | None) -> None:
        self.transport = None
        self.server.connections.discard(self)
        self.waiting.clear()
        self.resume_writing()
        if self._task is not None:
            self._task.cancel()

    def pause_writing(self) -> None:
        self._room = self.loop.create_future()

    def resume_writing(self) -> None:
        if self._room is not None:
            self._room.set_result(None)
            self._room = None

    # From the reader

    def requested(self, head: Head, body: RequestBody) -> None:
        self.waiting.append((head, body))
        if self._task is None:
            self._task = self.loop.create_task(self._serve())

    def broken(self) -> None:
        """What comes is no HTTP: the last answer says so."""
        if self._task is None:
            self._refuse()
        else:
            self.waiting.append(_NO_REQUEST)

    def read_on(self) -> None:
        """A request was answered: what waited for that may be read."""

    def hand_over(self, receive: Callable[[bytes], object]) -> None:
        """After an upgrade all bytes go to ``receive``; b"" tells that the client is gone."""
        raise RuntimeError("only a connection that asked for an upgrade is handed over")

    # To handlers

    def require_transport(self) -> asyncio.Transport:
        if self.transport is None:
            raise ConnectionResetError("the client is gone")
        return self.transport

    async def drain(self) -> None:
        """Until the client has taken what was written; one that does not read is dropped."""
        if self._room is not None:
            try:
                async with deadline(self.server.clock, _READ_PATIENCE_S):
                    await self._until_room()
            except TimeoutError as error:
                self.require_transport().abort()
                raise ConnectionResetError("the client does not read its answer") from error
        self._check_open()

    async def wait_written(self) -> None:
        """As ``drain``, however long it takes: a person may have stopped their terminal. A client
        that is gone, not slow, is found by TCP."""
        await self._until_room()
        self._check_open()

    async def _until_room(self) -> None:
        while self._room is not None:
            await asyncio.shield(self._room)  # others may wait for the same

    def _check_open(self) -> None:
        if self.require_transport().is_closing():
            raise ConnectionResetError("the client is gone")

    # Serving

    async def _serve(self) -> None:
        """Everything that waits, in order; its task ends when nothing does."""
        try:
            while self.waiting and self.transport is not None:
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
            if self.transport is not None:
                self.transport.abort()
            raise
        finally:
            self._task = None
            self.idle_since = self.server.clock.monotonic()
            self.server.request_done()

    async def _answer(self, head: Head, body: RequestBody) -> bool:
        """Whether the connection may carry another request."""
        request = Request(self, head, body)
        try:
            answer = await self.server.handler(request)
        except ConnectionError:
            raise
        except Exception:
            _log.exception("a handler failed: %s %s", request.method, request.raw_path_only)
            answer = _FAILED
        keep_alive = not (head.should_close or self.server.is_ending)
        if isinstance(answer, Streamed):
            keep_alive = keep_alive and answer.keep_alive
        else:
            is_endless = isinstance(answer.body, Chunks) and head.version < (1, 1)
            keep_alive = keep_alive and not answer.close and not is_endless
            await self._send(request, answer, keep_alive=keep_alive)
        if not body.is_eof():
            return await self._skip(body) and keep_alive
        return keep_alive

    async def _send(self, request: Request, answer: Response, *, keep_alive: bool) -> None:
        transport = self.require_transport()
        head = head_of(answer.status, answer.headers, self.server.date())
        if not keep_alive:
            head += b"Connection: close\r\n"
        elif request.version < (1, 1):
            head += b"Connection: keep-alive\r\n"
        body = answer.body
        if answer.status in (204, 304):
            transport.write(head + b"\r\n")
            return
        if isinstance(body, Chunks):
            await self._send_chunks(request, head, body)
            return
        size = len(body) if isinstance(body, bytes) else body.size
        head = b"%bContent-Length: %d\r\n\r\n" % (head, size)
        if request.method == "HEAD":
            transport.write(head)
        elif isinstance(body, bytes) and size <= _SLICE_BYTES:
            transport.write(head + body)
            if transport.get_write_buffer_size() > _SLICE_BYTES:
                await self.drain()
        else:
            transport.write(head)
            pieces: Iterator[bytes | memoryview] = (
                _slices(body) if isinstance(body, bytes) else body.pieces
            )
            turns, now = self.server.turns, self.server.clock.monotonic
            while size:
                await turns.wait()
                ends = now() + _TURN_S
                while size and self._room is None:
                    piece = next(pieces)
                    size -= len(piece)
                    transport.write(piece)
                    if turns.is_awaited or now() >= ends:
                        break
                await self.drain()

    async def _send_chunks(self, request: Request, head: bytes, body: Chunks) -> None:
        transport = self.require_transport()
        is_chunked = request.version >= (1, 1)
        transport.write(head + (b"Transfer-Encoding: chunked\r\n\r\n" if is_chunked else b"\r\n"))
        if request.method == "HEAD":
            return
        try:
            async for piece in body.pieces:
                if piece:
                    transport.write(chunk_of(piece) if is_chunked else piece)
                await self.drain()
        except ConnectionError:
            raise
        except Exception as error:
            _log.exception("an answer broke off: %s %s", request.method, request.raw_path_only)
            transport.abort()
            raise ConnectionResetError("the answer could not be completed") from error
        if is_chunked:
            transport.write(LAST_CHUNK)

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


def _slices(body: bytes) -> Iterator[memoryview]:
    view = memoryview(body)
    for start in range(0, len(view), _SLICE_BYTES):
        yield view[start : start + _SLICE_BYTES]
