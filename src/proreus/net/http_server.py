"""HTTP/1.1 server: bytes in, ``Request``; ``Response`` or a stream, bytes out.

The only user of aiohttp on the server's side. Responses are written as one buffer on the transport,
head and body together; streams hand their chunks straight to the transport, so a watcher costs no
task per event. Cost: about 60 µs of CPU per TLS request, most of it in the parser and TLS.

Invariant: whatever arrives, the handler is called at most once per request and answers exactly one
response; a connection that breaks the protocol is answered 400 (or dropped) and closed.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from email.utils import formatdate
from http import HTTPStatus
from typing import Any, NamedTuple, cast

from aiohttp import web
from aiohttp.http_exceptions import HttpProcessingError

from proreus.aio.clock import Clock, deadline

# aiohttp tells every broken request with a traceback; a hostile client must not fill the log.
_protocol_log = logging.getLogger(f"{__name__}.protocol")
_protocol_log.addHandler(logging.NullHandler())
_protocol_log.propagate = False

_STATUS_LINES = {s.value: f"HTTP/1.1 {s.value} {s.phrase}\r\n".encode() for s in HTTPStatus}
_LINE_BYTES_MAX = 64 * 1024
_HEADERS_MAX = 200
# Without this a client that opens connections and says nothing would hold them for an hour.
_KEEPALIVE_S = 180.0
# What waits in a transport that is fine; a small answer may still be in it when its turn ends.
_UNREAD_BYTES = 64 * 1024
# As long as a request may take; who has not read its answer by then never will.
_READ_PATIENCE_S = 60.0
_SLICE_BYTES = 256 * 1024


class BodyTooLarge(Exception):
    """The request's body is longer than the handler allows."""


class BodyUnreadable(Exception):
    """The client broke off, or its chunks or compression are malformed."""


class Response(NamedTuple):
    """A whole answer. ``headers`` without Content-Length and Date, which are added."""

    status: int
    headers: tuple[tuple[str, str], ...]
    body: bytes = b""
    close: bool = False


@dataclass(frozen=True, slots=True)
class Streamed:
    """The handler has already answered, through a stream."""

    keep_alive: bool = True


Answer = Response | Streamed
Handler = Callable[["Request"], Awaitable[Answer]]


class Request(web.BaseRequest):
    """One request; ``path`` and ``query`` as sent, still escaped."""

    ATTRS = web.BaseRequest.ATTRS | frozenset({"raw_path_only", "raw_query"})

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        target = self._message.path
        if not target.startswith("/"):
            target = self._rel_url.raw_path_qs
        target, _, _ = target.partition("#")
        self.raw_path_only, _, self.raw_query = target.partition("?")

    @property
    def peer(self) -> str:
        """The client's address, "" if unknown."""
        name = self._transport_peername
        return str(name[0]) if isinstance(name, tuple) else ""

    @property
    def local_address(self) -> tuple[str, int]:
        name = self._transport_sockname
        return (str(name[0]), int(name[1])) if isinstance(name, tuple) else ("", 0)

    @property
    def peer_certificate(self) -> Mapping[str, Any] | None:
        """The verified client certificate as ``ssl`` describes it, None without one."""
        transport = self.transport
        return transport.get_extra_info("peercert") or None if transport else None

    async def read_body(self, limit: int) -> bytes:
        """Raises BodyTooLarge as soon as the limit is passed, BodyUnreadable."""
        if not self.body_exists:
            return b""
        if (self.content_length or 0) > limit:
            raise BodyTooLarge
        if self.headers.get("Expect", "").lower() == "100-continue" and self.transport:
            self.transport.write(b"HTTP/1.1 100 Continue\r\n\r\n")
        pieces: list[bytes] = []
        size = 0
        try:
            while piece := await self._payload.readany():
                size += len(piece)
                if size > limit:
                    raise BodyTooLarge
                pieces.append(piece)
        except (web.RequestPayloadError, HttpProcessingError, ValueError) as error:
            raise BodyUnreadable(str(error)) from error
        return pieces[0] if len(pieces) == 1 else b"".join(pieces)

    def open_stream(self, headers: Iterable[tuple[str, str]], date: bytes) -> ChunkedStream:
        """Send the head of a chunked 200 answer now."""
        transport = self.transport
        if transport is None:
            raise ConnectionResetError("the client is gone")
        chunked = self.version >= (1, 1)
        extra = ("Transfer-Encoding", "chunked") if chunked else ("Connection", "close")
        transport.write(_head(200, (*headers, extra), date) + b"\r\n")
        return ChunkedStream(transport, chunked=chunked)


class ChunkedStream:
    """Chunks written on the transport without waiting: the reader of ``buffered`` sets the limit.

    ``write_chunk`` takes bytes already in chunked form, made once for all streams.
    """

    __slots__ = ("_chunked", "_transport")

    def __init__(self, transport: asyncio.Transport, *, chunked: bool) -> None:
        self._transport = transport
        self._chunked = chunked

    @property
    def is_chunked(self) -> bool:
        return self._chunked

    @property
    def is_closing(self) -> bool:
        return self._transport.is_closing()

    @property
    def buffered(self) -> int:
        """Bytes the kernel has not taken yet."""
        return self._transport.get_write_buffer_size()

    def write_chunk(self, chunk: bytes) -> None:
        if not self._transport.is_closing():
            self._transport.write(chunk)

    def write(self, data: bytes) -> None:
        if data:
            self.write_chunk(b"%x\r\n%b\r\n" % (len(data), data) if self._chunked else data)

    def end(self) -> None:
        if self._chunked:
            self.write_chunk(b"0\r\n\r\n")

    def abort(self) -> None:
        """Drop the connection: a reader that does not read cannot be told anything."""
        self._transport.abort()


class _Written(web.StreamResponse):
    """Stands in for aiohttp's response: small answers are one write, large ones go in slices.

    A slice is encrypted and sent before the next, so a list of many megabytes neither needs its
    size again in buffers nor keeps everybody else waiting.
    """

    def __init__(self, head: bytes, body: bytes, clock: Clock, *, keep_alive: bool) -> None:
        self._head_to_send = head
        self._body_to_send = body
        self._clock = clock
        self._is_kept = keep_alive

    @property
    def keep_alive(self) -> bool | None:
        return self._is_kept

    async def prepare(self, request: web.BaseRequest) -> None:
        transport = request.transport
        if transport is None:
            raise ConnectionResetError("the client is gone")
        body = self._body_to_send
        if len(body) <= _SLICE_BYTES:
            if self._head_to_send:
                transport.write(self._head_to_send + body)
            if transport.get_write_buffer_size() > _SLICE_BYTES:
                await self._drain(request, transport)
            return
        transport.write(self._head_to_send)
        view = memoryview(body)
        for start in range(0, len(body), _SLICE_BYTES):
            transport.write(view[start : start + _SLICE_BYTES])
            await self._drain(request, transport)

    async def _drain(self, request: web.BaseRequest, transport: asyncio.Transport) -> None:
        """A client that reads slowly holds only its own connection, and not for ever."""
        try:
            async with deadline(self._clock, _READ_PATIENCE_S):
                await request.writer.drain()
        except TimeoutError as error:
            transport.abort()
            raise ConnectionResetError("the client does not read its answer") from error
        if transport.is_closing():
            raise ConnectionResetError("the client is gone")

    async def write_eof(self, data: bytes = b"") -> None:
        return None


@dataclass(slots=True)
class HttpServer:
    """Serves ``handler`` on one address; ``run`` holds it open.

    ``port`` is the real one once running. Leaving ``run`` closes the listener, lets requests in
    progress finish for ``grace_s`` and then drops them.
    """

    handler: Handler
    clock: Clock
    host: str = "127.0.0.1"
    port: int = 0
    tls: ssl.SSLContext | None = None
    grace_s: float = 2.0
    _dates: tuple[int, bytes] = field(default=(-1, b""), init=False)
    _listener: asyncio.Server | None = field(default=None, init=False)
    _at_work: int = field(default=0, init=False)
    _all_done: asyncio.Event | None = field(default=None, init=False)

    @asynccontextmanager
    async def run(self) -> AsyncIterator[HttpServer]:
        loop = asyncio.get_running_loop()
        server = web.Server(
            cast(Any, self._handle),
            request_factory=lambda *args: Request(*args, loop),
            handler_cancellation=True,
            access_log=None,
            logger=_protocol_log,
            keepalive_timeout=_KEEPALIVE_S,
            max_line_size=_LINE_BYTES_MAX,
            max_field_size=_LINE_BYTES_MAX,
            max_headers=_HEADERS_MAX,
            lingering_time=1.0,
        )
        self._listener = await loop.create_server(
            server, self.host, self.port, ssl=self.tls, backlog=1024
        )
        self.port = self._listener.sockets[0].getsockname()[1]
        try:
            yield self
        finally:
            self.stop_listening()
            await self._finish_requests()
            server.pre_shutdown()
            await server.shutdown(self.grace_s)

    async def _finish_requests(self) -> None:
        """From the library's shutdown on, no connection is read, so bodies must be in before.

        Counted in real time, as there: a clock that stands still must not keep a server alive.
        """
        if not self._at_work:
            return
        self._all_done = asyncio.Event()
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(self.grace_s):
                await self._all_done.wait()

    def stop_listening(self) -> None:
        if self._listener is not None:
            self._listener.close()
            self._listener = None

    def date(self) -> bytes:
        """The Date header's line, made once a second."""
        second = int(self.clock.now())
        if second != self._dates[0]:
            self._dates = (second, f"Date: {formatdate(second, usegmt=True)}\r\n".encode())
        return self._dates[1]

    async def _handle(self, request: Request) -> web.StreamResponse:
        self._at_work += 1
        try:
            answer = await self.handler(request)
        finally:
            self._at_work -= 1
            if self._all_done is not None and not self._at_work:
                self._all_done.set()
        if isinstance(answer, Streamed):
            kept = answer.keep_alive and bool(request.keep_alive)
            return _Written(b"", b"", self.clock, keep_alive=kept)
        keep_alive = bool(request.keep_alive) and not answer.close
        head = _head(answer.status, answer.headers, self.date())
        if not keep_alive:
            head += b"Connection: close\r\n"
        elif request.version < (1, 1):
            head += b"Connection: keep-alive\r\n"
        if answer.status in (204, 304):
            return _Written(head + b"\r\n", b"", self.clock, keep_alive=keep_alive)
        head = b"%bContent-Length: %d\r\n\r\n" % (head, len(answer.body))
        body = b"" if request.method == "HEAD" else answer.body
        return _Written(head, body, self.clock, keep_alive=keep_alive)


def _head(status: int, headers: Iterable[tuple[str, str]], date: bytes) -> bytes:
    lines = "".join([f"{name}: {value}\r\n" for name, value in headers])
    line = _STATUS_LINES.get(status) or f"HTTP/1.1 {status} Unknown\r\n".encode()
    return line + lines.encode("latin-1", "replace") + date
