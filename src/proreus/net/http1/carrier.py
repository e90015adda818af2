"""What carries one request and its answer: an HTTP/1.1 connection, or one stream of HTTP/2.

Both hand a request to the server's handler and send what it answers, by this code. Each says for
itself how a head, a piece of a body and its end look on the wire, and has a transport: the
connection's own, or the stream's.

Answers are one write, head and body together; large ones go in slices, each sent before the next,
so that a list of many megabytes neither needs its size again in buffers nor keeps all others
waiting: one slice of one answer is sent per turn of the loop (``aio/turns``), or some if it is the
only one.
"""

from __future__ import annotations

import asyncio
import logging
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING

from proreus.aio.clock import deadline
from proreus.net.http1.messages import Chunks, Pieces, Request, Response, Streamed

if TYPE_CHECKING:
    from proreus.net.http1.messages import ChunkedStream
    from proreus.net.http1.server import HttpServer

_log = logging.getLogger(__name__)

SLICE_BYTES = 96 * 1024  # encrypted and sent in 0.15 to 0.25 ms
_TURN_S = 0.0005  # how long slices follow each other in one turn, if no other answer waits for one
# As long as a request may take; a client that has not read its answer by then never will.
READ_PATIENCE_S = 60.0
_FAILED = Response(500, (("Content-Type", "text/plain; charset=utf-8"),), b"500", close=True)

_WITHOUT_BODY = frozenset({204, 304})

Headers = Iterable[tuple[str, str]]


class Carrier(ABC):
    """``transport`` is None once the client is gone."""

    def __init__(self, server: HttpServer, loop: asyncio.AbstractEventLoop) -> None:
        self.server = server
        self.loop = loop
        self.transport: asyncio.Transport | None = None
        self._room: asyncio.Future[None] | None = None  # while the client takes no more

    # How an answer looks on the wire

    @abstractmethod
    def send_whole(
        self,
        request: Request,
        answer: Response,
        body: bytes | None,
        size: int | None,
        *,
        last: bool,
    ) -> None:
        """Head and body at once. Without a body none follows; ``size``: what the head says."""

    @abstractmethod
    def send_head(
        self, request: Request, answer: Response, size: int | None, *, last: bool
    ) -> None:
        """Pieces follow, ``size`` bytes of them if that is known."""

    @abstractmethod
    def send_piece(self, piece: bytes | memoryview) -> None:
        """Not an empty one."""

    @abstractmethod
    def send_end(self) -> None:
        """After the last piece."""

    @abstractmethod
    def open_stream(self, request: Request, headers: Headers, status: int) -> ChunkedStream:
        """Send the head of an answer whose handler writes its body."""

    @abstractmethod
    def send_continue(self) -> None:
        """The client waits for a word before it sends its body."""

    def hand_over(self, receive: Callable[[bytes], object]) -> None:
        """After an upgrade all bytes go to ``receive``; b"" tells that the client is gone."""
        raise RuntimeError("only a connection that asked for an upgrade is handed over")

    # From the transport

    def pause_writing(self) -> None:
        self._room = self.loop.create_future()

    def resume_writing(self) -> None:
        if self._room is not None:
            self._room.set_result(None)
            self._room = None

    # To handlers

    def require_transport(self) -> asyncio.Transport:
        if self.transport is None:
            raise ConnectionResetError("the client is gone")
        return self.transport

    async def drain(self) -> None:
        """Until the client has taken what was written; one that does not read is dropped."""
        if self._room is not None:
            try:
                async with deadline(self.server.clock, READ_PATIENCE_S):
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

    # Answering

    async def handled(self, request: Request) -> Response | Streamed:
        """What the handler answers; a failure of it is a bug, and answered. Raises
        ConnectionError."""
        try:
            return await self.server.handler(request)
        except ConnectionError:
            raise
        except Exception:
            _log.exception("a handler failed: %s %s", request.method, request.raw_path_only)
            return _FAILED

    async def send(self, request: Request, answer: Response, *, last: bool) -> None:
        """``last``: no other request follows on the connection. Raises ConnectionError."""
        body = answer.body
        if request.method == "HEAD" or answer.status in _WITHOUT_BODY:
            self.send_whole(request, answer, None, _content_length(answer), last=last)
        elif isinstance(body, bytes) and len(body) <= SLICE_BYTES:
            self.send_whole(request, answer, body, len(body), last=last)
            if self.require_transport().get_write_buffer_size() > SLICE_BYTES:
                await self.drain()
        elif isinstance(body, Chunks):
            await self._send_chunks(request, answer, body, last=last)
        else:
            size, pieces = body if isinstance(body, Pieces) else (len(body), _slices(body))
            self.send_head(request, answer, size, last=last)
            await self._send_pieces(pieces, size)
            self.send_end()

    async def _send_pieces(self, pieces: Iterator[bytes | memoryview], size: int) -> None:
        turns, now = self.server.turns, self.server.clock.monotonic
        while size:
            await turns.wait()
            ends = now() + _TURN_S
            while size and self._room is None:
                piece = next(pieces)
                size -= len(piece)
                self.send_piece(piece)
                if turns.is_awaited or now() >= ends:
                    break
            await self.drain()

    async def _send_chunks(
        self, request: Request, answer: Response, body: Chunks, *, last: bool
    ) -> None:
        self.send_head(request, answer, None, last=last)
        try:
            async for piece in body.pieces:
                if piece:
                    self.send_piece(piece)
                await self.drain()
        except ConnectionError:
            raise
        except Exception as error:
            _log.exception("an answer broke off: %s %s", request.method, request.raw_path_only)
            self.require_transport().abort()
            raise ConnectionResetError("the answer could not be completed") from error
        self.send_end()


def _content_length(answer: Response) -> int | None:
    """What is said of a body that is not sent."""
    body = answer.body
    if isinstance(body, Chunks) or answer.status in _WITHOUT_BODY:
        return None
    return len(body) if isinstance(body, bytes) else body.size


def _slices(body: bytes) -> Iterator[memoryview]:
    view = memoryview(body)
    for start in range(0, len(view), SLICE_BYTES):
        yield view[start : start + SLICE_BYTES]
