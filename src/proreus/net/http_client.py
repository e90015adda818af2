"""HTTP as a client: requests out, answers or byte streams in. The HTTP library stays in here.

Receives: method, URL, headers, body, from ``client.rest``.  Hands on: status, headers and bytes.
Invariant: whatever breaks surfaces as a ``TransportError``; no answer's status is an error here.
Streams have connections of their own, so that any number of watches never holds up a request.
A peer that vanished is found by TCP itself (keepalive and user timeout), besides the deadlines that
the layers above set.
"""

from __future__ import annotations

import asyncio
import contextlib
import socket
import ssl
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import aiohttp
import yarl

from proreus.net.transport_error import (
    ConnectFailed,
    ConnectionLost,
    ConnectionRefused,
    NotPermitted,
    ProtocolError,
    TlsFailed,
    TransportError,
    TransportTimeout,
)

if TYPE_CHECKING:
    from proreus.net.websocket_client import ClientWebSocket

CONNECT_TIMEOUT_S = 30.0
_REQUESTS_AT_ONCE = 100
_HEADER_BYTES_MAX = 64 * 1024  # Warning headers and long names fit
_READ_BUFFER_BYTES = 512 * 1024

# Three unanswered probes, and data unacknowledged for as long, end a connection.
_KEEPALIVE_IDLE_S, _KEEPALIVE_INTERVAL_S, _KEEPALIVE_PROBES = 30, 15, 3
_TCP_OPTIONS: Sequence[tuple[str, int]] = (
    ("TCP_NODELAY", 1),
    ("TCP_KEEPIDLE", _KEEPALIVE_IDLE_S),
    ("TCP_KEEPINTVL", _KEEPALIVE_INTERVAL_S),
    ("TCP_KEEPCNT", _KEEPALIVE_PROBES),
    ("TCP_USER_TIMEOUT", 1000 * (_KEEPALIVE_IDLE_S + _KEEPALIVE_INTERVAL_S * _KEEPALIVE_PROBES)),
)


@dataclass(frozen=True, slots=True)
class Route:
    """How connections are made. Equal routes may share them."""

    ssl: ssl.SSLContext | None = None  # None: the scheme decides, with the system's CAs
    server_hostname: str | None = None  # what the certificate must name, if not the URL's host
    proxy: str | None = None
    compressed: bool = True  # ask for gzip
    connect_timeout_s: float = CONNECT_TIMEOUT_S
    # Asked when a write has its connection and nothing of it has been sent; False: it is not.
    permit: Callable[[], bool] | None = None
    given: socket.socket | None = None  # the only connection there is; closed with the client


@dataclass(frozen=True, slots=True)
class Response:
    """A whole answer."""

    status: int
    headers: Headers
    body: bytes


class UpgradeRefused(Exception):
    """The server answered a WebSocket handshake with something else."""

    def __init__(self, response: Response) -> None:
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

    def __repr__(self) -> str:
        return repr(self._pairs)


class ByteStream:
    """An open answer: ``chunks`` yields bytes as they arrive and ends when the server ends it."""

    def __init__(self, url: str, response: aiohttp.ClientResponse) -> None:
        self._url = url
        self.raw = response  # for what else runs on the connection; not to leave ``net``
        self.status = response.status
        self.headers = _headers(response)

    async def read(self) -> bytes:
        with _translated(self._url):
            return await self.raw.read()

    async def chunks(self) -> AsyncIterator[bytes]:
        with _translated(self._url):
            async for chunk in self.raw.content.iter_any():
                yield chunk

    async def next_chunk(self) -> bytes:
        """The next bytes; empty at the end."""
        with _translated(self._url):
            return await self.raw.content.readany()


class HttpClient:
    """A pool of connections along one route. Use as an async context manager, in a loop."""

    def __init__(self, route: Route) -> None:
        self._route = route
        self._requests = _session(route, limit=_REQUESTS_AT_ONCE)
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

    async def retire(self) -> None:
        """End all streams now, and the rest once the requests under way are answered."""
        self._is_retired = True
        if self._streams is not None:
            await self._streams.close()
        await self._close_if_done()

    async def request(
        self, method: str, url: str, headers: Mapping[str, str | list[str]], body: bytes | None
    ) -> Response:
        """Send, and read the whole answer."""
        self._under_way += 1
        try:
            with _translated(url):
                async with self._open(self._requests, method, url, headers, body) as response:
                    return Response(response.status, _headers(response), await response.read())
        finally:
            self._under_way -= 1
            await self._close_if_done()

    @contextlib.asynccontextmanager
    async def stream(
        self, method: str, url: str, headers: Mapping[str, str | list[str]], body: bytes | None
    ) -> AsyncIterator[ByteStream]:
        """Send, and leave the answer open while the body of the ``async with`` reads it."""
        if self._streams is None:
            self._streams = _session(self._route, limit=0)
        with _translated(url):
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
        from proreus.net.websocket_client import ClientWebSocket, Handshake

        handshake = Handshake(protocols)
        asked = {**headers, **handshake.headers()}
        async with self.stream("GET", url, asked, None) as answer:
            if answer.status != 101:
                raise UpgradeRefused(Response(answer.status, answer.headers, await answer.read()))
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
            allow_redirects=method == "GET",
            server_hostname=self._route.server_hostname,
            proxy=self._route.proxy,
        )


def _session(route: Route, *, limit: int) -> aiohttp.ClientSession:
    session = aiohttp.ClientSession(
        connector=_connector(route, limit),
        timeout=aiohttp.ClientTimeout(
            total=None, sock_connect=route.connect_timeout_s, sock_read=None
        ),
        cookie_jar=aiohttp.DummyCookieJar(),
        read_bufsize=_READ_BUFFER_BYTES,
        max_line_size=_HEADER_BYTES_MAX,
        max_field_size=_HEADER_BYTES_MAX,
        headers={"Accept-Encoding": "gzip" if route.compressed else "identity"},
        skip_auto_headers=("Content-Type", "Accept"),
    )
    # The library would repeat a PUT whose connection broke; what is repeated is not its to decide.
    session._retry_connection = False
    return session


def _connector(route: Route, limit: int) -> aiohttp.BaseConnector:
    if route.given is not None:
        return _GivenSocket(route.given, route.ssl)
    return _PermittedConnector(
        route.permit,
        limit=limit,
        ssl=route.ssl if route.ssl is not None else True,
        socket_factory=_open_socket,
        keepalive_timeout=90.0,
    )


class _PermittedConnector(aiohttp.TCPConnector):
    """Between getting a connection and sending on it, so that no wait for one is in between."""

    def __init__(self, permit: Callable[[], bool] | None, **options: Any) -> None:
        super().__init__(**options)
        self._permit = permit

    async def connect(self, req: Any, traces: Any, timeout: Any) -> Any:
        connection = await super().connect(req, traces, timeout)
        if self._permit is not None and req.method != "GET" and not self._permit():
            connection.release()
            raise NotPermitted(str(req.url), "this client must not write any more")
        return connection


class _GivenSocket(aiohttp.BaseConnector):
    """Its one connection is there already, whatever the URL says."""

    def __init__(self, given: socket.socket, context: ssl.SSLContext | None) -> None:
        super().__init__(force_close=True, limit=1)
        self._given = given
        self._context = context

    async def _create_connection(self, req: Any, traces: Any, timeout: Any) -> Any:
        is_secure = req.url.scheme == "https"
        _, protocol = await self._loop.create_connection(
            self._factory,
            sock=self._given,
            ssl=self._context if is_secure else None,
            server_hostname=req.url.host if is_secure else None,
        )
        return protocol


def _open_socket(address: tuple[Any, ...]) -> socket.socket:
    family, kind, protocol, _, _ = address
    opened = socket.socket(family=family, type=kind, proto=protocol)
    opened.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    for name, value in _TCP_OPTIONS:
        option = getattr(socket, name, None)
        if option is not None:  # not every system has every option
            opened.setsockopt(socket.IPPROTO_TCP, option, value)
    return opened


def _headers(response: aiohttp.ClientResponse) -> Headers:
    return Headers(list(response.headers.items()))


@contextlib.contextmanager
def _translated(url: str) -> Iterator[None]:
    """The library's exceptions, as ours."""
    try:
        yield
    except (aiohttp.ClientError, OSError, asyncio.IncompleteReadError, EOFError) as failure:
        raise translate(url, failure) from failure
    except RuntimeError as failure:
        if "closed" not in str(failure).lower():
            raise
        raise ConnectionLost(url, "the client was closed") from failure


def translate(url: str, failure: Exception) -> TransportError:
    """Which of our errors the library's one is."""
    why = str(failure) or type(failure).__name__
    match failure:
        case aiohttp.ClientSSLError() | aiohttp.ServerFingerprintMismatch() | ssl.SSLError():
            return TlsFailed(url, _tls_reason(failure))
        case aiohttp.ClientConnectorError(os_error=ConnectionRefusedError()):
            return ConnectionRefused(url, "connection refused")
        case aiohttp.ClientConnectorError(os_error=cause):
            return ConnectFailed(url, cause.strerror or str(cause) or why)
        case aiohttp.ClientHttpProxyError():
            return ConnectFailed(url, f"the proxy answered {failure.status} {failure.message}")
        case aiohttp.ConnectionTimeoutError():
            return TransportTimeout(url, "no connection before the deadline")
        case TimeoutError():
            return TransportTimeout(url, "no answer before the deadline")
        case aiohttp.ClientPayloadError() | aiohttp.ServerDisconnectedError():
            return ConnectionLost(url, "the server closed the connection in the middle")
        case aiohttp.ClientConnectionError() | ConnectionError() | EOFError():
            return ConnectionLost(url, why)
        case aiohttp.ClientResponseError() | aiohttp.InvalidURL() | aiohttp.ClientError():
            return ProtocolError(url, why)
        case _:
            return ConnectionLost(url, why)


def _tls_reason(failure: Exception) -> str:
    cause = getattr(failure, "certificate_error", None) or getattr(failure, "os_error", None)
    text = getattr(cause, "verify_message", "") or str(cause or failure)
    return f"TLS: {text}"
