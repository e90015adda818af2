"""HTTP as a client: requests out, answers or byte streams in. The HTTP library stays in here.

Receives: method, URL, headers, body, from ``client.rest``.  Hands on: status, headers and bytes.
Invariant: whatever breaks surfaces as a ``TransportError``; no answer's status is an error here.
Streams have connections of their own, so that any number of watches never holds up a request.
A peer that vanished is found by TCP itself (keepalive and user timeout), besides the deadlines that
the layers above set.
"""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any
from weakref import WeakSet

import aiohttp
import yarl

from proreus.lazy_dataclass import dataclass
from proreus.net.client.connectors import Dropped, Route, connector
from proreus.net.client.translation import translated
from proreus.net.client.transport_error import ProtocolError

if TYPE_CHECKING:
    from proreus.net.client.websocket import ClientWebSocket

_REQUESTS_AT_ONCE = 100
_HEADER_BYTES_MAX = 64 * 1024  # Warning headers and long names fit
_READ_BUFFER_BYTES = 512 * 1024


@dataclass(frozen=True, slots=True)
class HttpResponse:
    """A whole answer."""

    status: int
    headers: Headers
    body: bytes


class UpgradeRefused(Exception):
    """The server answered a WebSocket handshake with something else."""

    def __init__(self, response: HttpResponse) -> None:
        super().__init__(f"the server answered the handshake with {response.status}")
        self.response = response


class Headers:
    """An answer's headers; names in any case."""

    def __init__(self, pairs: Sequence[tuple[str, str]]) -> None:
        self._pairs = [(name.lower(), value) for name, value in pairs]

    def get(self, name: str, default: str = "") -> str:
        return next(iter(self.all(name)), default)

    def all(self, name: str) -> list[str]:
        wanted = name.lower()
        return [value for known, value in self._pairs if known == wanted]

    def pairs(self) -> Sequence[tuple[str, str]]:
        """All of them, with names in lower case."""
        return self._pairs

    def __repr__(self) -> str:
        return repr(self._pairs)


class ByteStream:
    """An open answer: ``chunks`` yields bytes as they arrive and ends when the server ends it."""

    def __init__(self, url: str, response: aiohttp.ClientResponse) -> None:
        self._url = url
        self.raw = response  # for what else runs on the connection; not to leave ``net``
        self.status = response.status
        self.headers = _headers(response)

    async def read(self, limit: int = 1 << 20) -> bytes:
        """The body, at most ``limit`` bytes of it: for answers that are no stream but an error."""
        found = b""
        while len(found) < limit and (piece := await self.next_chunk()):
            found += piece
        return found[:limit]

    async def chunks(self) -> AsyncIterator[bytes]:
        with translated(self._url):
            async for chunk in self.raw.content.iter_any():
                yield chunk

    async def next_chunk(self) -> bytes:
        """The next bytes; empty at the end."""
        with translated(self._url):
            return await self.raw.content.readany()


class HttpClient:
    """A pool of connections along one route. Use as an async context manager, in a loop."""

    def __init__(self, route: Route) -> None:
        self._route = route
        self._dropped: Dropped = WeakSet()
        self._requests = _session(route, self._dropped, limit=_REQUESTS_AT_ONCE)
        self._streams: aiohttp.ClientSession | None = None
        self._under_way = 0
        self._is_retired = False

    async def __aenter__(self) -> HttpClient:
        return self

    async def __aexit__(self, *exc: object) -> None:
        await self.close()

    async def close(self) -> None:
        """Close every connection; what is under way fails."""
        if self._streams is not None:
            await self._streams.close()
        await self._requests.close()
        # A dropped TLS connection waits for the other side's good-bye, longer than the loop lasts.
        for transport in list(self._dropped):
            transport.abort()

    async def retire(self) -> None:
        """End all streams now, and the rest once the requests under way are answered."""
        self._is_retired = True
        if self._streams is not None:
            await self._streams.close()
        await self._close_if_done()

    async def request(
        self,
        method: str,
        url: str,
        headers: Mapping[str, str | list[str]],
        body: bytes | None,
        *,
        answer_bytes_max: int | None = None,
    ) -> HttpResponse:
        """Send, and read the whole answer; a longer one than ``answer_bytes_max`` is a
        ProtocolError, and its connection is closed."""
        self._under_way += 1
        try:
            with translated(url):
                async with self._open(self._requests, method, url, headers, body) as response:
                    found = await _whole(response, url, answer_bytes_max)
                    return HttpResponse(response.status, _headers(response), found)
        finally:
            self._under_way -= 1
            await self._close_if_done()

    @contextlib.asynccontextmanager
    async def stream(
        self, method: str, url: str, headers: Mapping[str, str | list[str]], body: bytes | None
    ) -> AsyncIterator[ByteStream]:
        """Send, and leave the answer open while the body of the ``async with`` reads it."""
        if self._streams is None:
            self._streams = _session(self._route, self._dropped, limit=0)
        with translated(url):
            response = await self._open(self._streams, method, url, headers, body)
        try:
            yield ByteStream(url, response)
        finally:
            response.close()  # an unfinished answer cannot be reused: drop its connection

    @contextlib.asynccontextmanager
    async def websocket(
        self,
        url: str,
        headers: Mapping[str, str | list[str]],
        protocols: Sequence[str],
        *,
        message_bytes_max: int,
    ) -> AsyncIterator[ClientWebSocket]:
        """A WebSocket while the body of the ``async with`` lasts. Raises UpgradeRefused."""
        from proreus.net.client.websocket import ClientWebSocket, Handshake

        handshake = Handshake(protocols)
        asked = {**headers, **handshake.headers()}
        async with self.stream("GET", url, asked, None) as answer:
            if answer.status != 101:
                raise UpgradeRefused(
                    HttpResponse(answer.status, answer.headers, await answer.read())
                )
            chosen = handshake.chosen(url, answer.raw.headers)
            socket = ClientWebSocket(url, answer.raw, chosen, message_bytes_max)
            try:
                yield socket
            finally:
                await socket.close()

    async def _close_if_done(self) -> None:
        if self._is_retired and not self._under_way:
            await self._requests.close()

    def _open(
        self,
        session: aiohttp.ClientSession,
        method: str,
        url: str,
        headers: Mapping[str, str | list[str]],
        body: bytes | None,
    ) -> Any:  # aiohttp's private type: awaitable and an async context manager
        pairs = [
            (name, value)
            for name, values in headers.items()
            for value in ([values] if isinstance(values, str) else values)
        ]
        return session.request(
            method,
            yarl.URL(url, encoded=True),
            headers=pairs,
            data=body,
            allow_redirects=method == "GET" and self._route.follow_redirects,
            server_hostname=self._route.server_hostname,
            proxy=self._route.proxy,
        )


async def _whole(response: aiohttp.ClientResponse, url: str, bytes_max: int | None) -> bytes:
    if bytes_max is None:
        return await response.read()
    pieces: list[bytes] = []
    size = 0
    async for piece in response.content.iter_any():
        size += len(piece)
        if size > bytes_max:
            response.close()
            raise ProtocolError(url, f"the answer has more than {bytes_max} bytes")
        pieces.append(piece)
    return b"".join(pieces)


def _session(route: Route, dropped: Dropped, *, limit: int) -> aiohttp.ClientSession:
    session = aiohttp.ClientSession(
        connector=connector(route, limit, dropped),
        timeout=aiohttp.ClientTimeout(
            total=None, sock_connect=route.connect_timeout_s, sock_read=None
        ),
        cookie_jar=aiohttp.DummyCookieJar(),
        read_bufsize=_READ_BUFFER_BYTES,
        max_line_size=_HEADER_BYTES_MAX,
        max_field_size=_HEADER_BYTES_MAX,
        auto_decompress=route.decompress,
        headers={"Accept-Encoding": "gzip" if route.compressed else "identity"},
        skip_auto_headers=("Content-Type", "Accept"),
    )
    # The library would repeat a PUT whose connection broke; what is repeated is not its to decide.
    session._retry_connection = False
    return session


def _headers(response: aiohttp.ClientResponse) -> Headers:
    return Headers(list(response.headers.items()))
