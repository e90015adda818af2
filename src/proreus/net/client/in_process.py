"""A client's transport to a server in the same process and loop: no sockets, no parsing of HTTP.

Receives: requests, from ``client.rest``.  Hands on: ``Request``, to the server's handler.
For programs under test: what happens is a matter of the event loop alone, so on a loop with virtual
time it happens in the same order each time. Every request has a task of its own without the
caller's context variables, and is cancelled when its caller leaves, as on a socket.
Cost: a tenth of a request on loopback. There are no WebSockets.
"""

from __future__ import annotations

import asyncio
import contextlib
import contextvars
from collections import deque
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AbstractAsyncContextManager
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from multidict import CIMultiDict, CIMultiDictProxy

from proreus.net.client.http_client import Headers, HttpResponse
from proreus.net.client.transport import RequestHeaders
from proreus.net.client.transport_error import ConnectionLost, NotPermitted, ProtocolError
from proreus.net.http1.connection import HttpConnection
from proreus.net.http1.messages import Answer, Chunks, Handler, Head, Pieces, Request, Response
from proreus.net.http1.server import HttpServer

if TYPE_CHECKING:
    from proreus.net.client.websocket import ClientWebSocket

_HTTP_1_0 = (1, 0)  # its streams have no chunks: what is written is the body


class InProcessHttp:
    """Implements ``transport.Transport`` over the handler of ``server``, which need not listen.
    ``handler``: another than the server's own."""

    def __init__(
        self,
        server: HttpServer,
        permit: Callable[[], bool] | None = None,
        handler: Handler | None = None,
    ) -> None:
        self._server = server
        self._permit = permit
        self._handler = handler
        self._streams: set[_Stream] = set()
        self._is_closed = False

    async def request(
        self, method: str, url: str, headers: RequestHeaders, body: bytes | None
    ) -> HttpResponse:
        connection = self._connect(method, url)
        task = connection.serve(method, url, headers, body)
        try:
            answer = await task
        finally:
            connection.leave()
        if not isinstance(answer, Response):
            raise ProtocolError(url, "a stream was answered where a whole answer was expected")
        return HttpResponse(answer.status, Headers(answer.headers), await _whole(answer.body))

    @contextlib.asynccontextmanager
    async def stream(
        self, method: str, url: str, headers: RequestHeaders, body: bytes | None
    ) -> AsyncIterator[_Stream]:
        connection = self._connect(method, url)
        stream = _Stream(url, connection, connection.serve(method, url, headers, body))
        self._streams.add(stream)
        try:
            await stream.wait_open()
            yield stream
        finally:
            self._streams.discard(stream)
            connection.leave()

    def websocket(
        self,
        url: str,
        headers: RequestHeaders,
        protocols: Sequence[str],
        *,
        message_bytes_max: int,
    ) -> AbstractAsyncContextManager[ClientWebSocket]:
        raise ProtocolError(url, "there are no WebSockets to a server in the same process")

    async def retire(self) -> None:
        self._end_streams()

    async def close(self) -> None:
        self._is_closed = True
        self._end_streams()

    def _end_streams(self) -> None:
        for stream in list(self._streams):
            stream.break_off()

    def _connect(self, method: str, url: str) -> _Connection:
        if self._is_closed:
            raise ConnectionLost(url, "the client is closed")
        if self._permit is not None and method != "GET" and not self._permit():
            raise NotPermitted(url, "this client must not write any more")
        handler = self._handler or self._server.handler
        return _Connection(self._server, asyncio.get_running_loop(), handler)


class _Connection(HttpConnection):
    """Carries one request; its transport keeps what a stream writes."""

    def __init__(
        self, server: HttpServer, loop: asyncio.AbstractEventLoop, handler: Handler
    ) -> None:
        super().__init__(server, loop)
        self._handler = handler
        self.written = _Written()
        self.transport = self.written
        self._serving: asyncio.Task[Answer] | None = None

    def serve(
        self, method: str, url: str, headers: RequestHeaders, body: bytes | None
    ) -> asyncio.Task[Answer]:
        pairs = CIMultiDict[str]()
        for name, values in headers.items():
            for value in [values] if isinstance(values, str) else values:
                pairs.add(name, value)
        if body is not None:
            pairs["Content-Length"] = str(len(body))
        address = urlsplit(url)
        pairs["Host"] = address.netloc
        target = address.path + (f"?{address.query}" if address.query else "")
        head = Head(method, target, CIMultiDictProxy(pairs), _HTTP_1_0)
        request = Request(self, head, _Body(body or b""))
        self._serving = self.loop.create_task(
            self._answered(request), context=contextvars.Context()
        )
        return self._serving

    async def _answered(self, request: Request) -> Answer:
        return await self._handler(request)

    def leave(self) -> None:
        """The client is gone."""
        self.transport = None
        self.written.abort()
        if self._serving is not None:
            self._serving.cancel()


class _Written(asyncio.Transport):
    """What the server wrote of a stream: the first write is its head."""

    def __init__(self) -> None:
        super().__init__()
        self.pieces: deque[bytes] = deque()
        self.moved = asyncio.Event()
        self._is_closing = False

    def write(self, data: Any) -> None:
        if data:
            self.pieces.append(bytes(data))
            self.moved.set()

    def is_closing(self) -> bool:
        return self._is_closing

    def close(self) -> None:
        self._is_closing = True
        self.moved.set()

    def abort(self) -> None:
        self.pieces.clear()
        self.close()

    def get_write_buffer_size(self) -> int:
        return sum(map(len, self.pieces))

    def set_write_buffer_limits(self, high: int | None = None, low: int | None = None) -> None:
        return None

    def get_extra_info(self, name: str, default: Any = None) -> Any:
        return ("127.0.0.1", 0) if name == "peername" else default


class _Stream:
    """An answer that is left open."""

    def __init__(self, url: str, connection: _Connection, task: asyncio.Task[Answer]) -> None:
        self.status = 0
        self.headers = Headers(())
        self._url = url
        self._written = connection.written
        self._task = task
        self._is_broken = False
        task.add_done_callback(lambda _: self._written.moved.set())

    async def wait_open(self) -> None:
        """Until there is a head, or a whole answer instead."""
        while not self._written.pieces and not self._task.done():
            await self._next_move()
        if self._written.pieces:
            lines = self._written.pieces.popleft().decode("latin-1").split("\r\n")
            self.status = int(lines[0].split(" ")[1])
            pairs = [line.partition(": ") for line in lines[1:] if line]
            self.headers = Headers([(name, value) for name, _, value in pairs])
            return
        answer = await self._task
        assert isinstance(answer, Response), "nothing was streamed"
        self.status, self.headers = answer.status, Headers(answer.headers)
        self._written.write(await _whole(answer.body))

    async def read(self, limit: int = 1 << 20) -> bytes:
        found = b""
        while len(found) < limit and (piece := await self.next_chunk()):
            found += piece
        return found[:limit]

    async def chunks(self) -> AsyncIterator[bytes]:
        while piece := await self.next_chunk():
            yield piece

    async def next_chunk(self) -> bytes:
        written = self._written
        while not written.pieces:
            if self._is_broken or written.is_closing():
                raise ConnectionLost(self._url, "the connection was closed in the middle")
            if self._task.done():
                return b""
            await self._next_move()
        piece = b"".join(written.pieces)
        written.pieces.clear()
        return piece

    def break_off(self) -> None:
        self._is_broken = True
        self._written.moved.set()

    async def _next_move(self) -> None:
        self._written.moved.clear()
        await self._written.moved.wait()


class _Body:
    """A request's body, all of it."""

    has_arrived = True

    def __init__(self, content: bytes) -> None:
        self._content = content

    def is_eof(self) -> bool:
        return not self._content

    async def readany(self) -> bytes:
        content, self._content = self._content, b""
        return content


async def _whole(body: bytes | Pieces | Chunks) -> bytes:
    if isinstance(body, bytes):
        return body
    if isinstance(body, Pieces):
        return b"".join(body.pieces)
    return b"".join([piece async for piece in body.pieces])
