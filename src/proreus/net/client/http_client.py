"""HTTP/1.1 as a client: requests out, answers or byte streams in.

Receives: method, URL, headers, body, from ``client.rest``.  Hands on: status, headers and bytes.
Invariant: whatever breaks surfaces as a ``TransportError``; no answer's status is an error here.
Nothing that was sent is sent again. Any number of streams never holds up a request: only requests
are counted. A peer that vanished is found by TCP itself (keepalive and user timeout), besides the
deadlines that the layers above set.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Sequence
from typing import TYPE_CHECKING

from proreus.lazy_dataclass import dataclass
from proreus.net.client.connection import ClientConnection, IncomingAnswer
from proreus.net.client.connectors import Route
from proreus.net.client.dialing import Dialer
from proreus.net.client.pool import Pool
from proreus.net.client.redirects import Redirects
from proreus.net.client.request_encoding import RequestDefaults, RequestHeads
from proreus.net.client.response_body import BadGzip, Unpacking
from proreus.net.client.response_head import Pair, ResponseHead, ResponseHeads
from proreus.net.client.server_address import ServerAddresses
from proreus.net.client.transport import RequestHeaders
from proreus.net.client.transport_error import ConnectionLost, NotPermitted, ProtocolError

if TYPE_CHECKING:
    from proreus.net.client.websocket import ClientWebSocket

_REQUESTS_AT_ONCE = 100
_CLOSED = "the client was closed"
_UNPACKED = ("gzip", "x-gzip")


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

    __slots__ = ("_pairs",)

    def __init__(self, pairs: Sequence[Pair]) -> None:
        self._pairs: Sequence[Pair] = [(name.lower(), value) for name, value in pairs]

    @classmethod
    def of_head(cls, head: ResponseHead) -> Headers:
        made = cls.__new__(cls)
        made._pairs = head.pairs  # in lower case already
        return made

    def get(self, name: str, default: str = "") -> str:
        return next(iter(self.all(name)), default)

    def all(self, name: str) -> list[str]:
        wanted = name.lower()
        return [value for known, value in self._pairs if known == wanted]

    def pairs(self) -> Sequence[Pair]:
        """All of them, with names in lower case."""
        return self._pairs

    def __repr__(self) -> str:
        return repr(self._pairs)


class ByteStream:
    """An open answer: ``chunks`` yields bytes as they arrive and ends when the server ends it."""

    def __init__(
        self,
        connection: ClientConnection,
        answer: IncomingAnswer,
        head: ResponseHead,
        *,
        unpacks: bool,
    ) -> None:
        self.connection = connection  # for what else runs on it; not to leave ``net``
        self.answer = answer
        self.status = head.status
        self.headers = Headers.of_head(head)
        self._unpacking = Unpacking() if unpacks and head.coding in _UNPACKED else None

    async def read(self, limit: int = 1 << 20) -> bytes:
        """The body, at most ``limit`` bytes of it: for answers that are no stream but an error."""
        pieces, size = [], 0
        while size < limit and (piece := await self.next_chunk()):
            pieces.append(piece)
            size += len(piece)
        return b"".join(pieces)[:limit]

    def whole_nowait(self) -> bytes | None:
        """All of the body, if it is here and nothing of it was read."""
        return self.answer.whole() if self._unpacking is None else None

    async def whole(self, bytes_max: int | None) -> bytes:
        """All of the body. Raises ProtocolError if it is longer."""
        pieces: list[bytes] = []
        size = 0
        while more := await self._next_pieces():
            size += sum(map(len, more))
            if bytes_max is not None and size > bytes_max:
                raise self.too_long(bytes_max)
            pieces += more
        return b"".join(pieces)

    def too_long(self, bytes_max: int) -> ProtocolError:
        return ProtocolError(self.answer.url, f"the answer has more than {bytes_max} bytes")

    async def chunks(self) -> AsyncIterator[bytes]:
        while piece := await self.next_chunk():
            yield piece

    async def next_chunk(self) -> bytes:
        """The next bytes; empty at the end."""
        pieces = await self._next_pieces()
        return pieces[0] if len(pieces) == 1 else b"".join(pieces)

    async def _next_pieces(self) -> list[bytes]:
        if self._unpacking is None:
            return await self.answer.read_pieces()
        try:
            while not (piece := self._unpacking.next_piece()):
                packed = await self.answer.read()
                if not packed:
                    self._unpacking.end()
                    return []
                self._unpacking.feed(packed)
        except BadGzip as error:
            raise ProtocolError(self.answer.url, f"not gzip: {error}") from error
        await asyncio.sleep(0)  # a large body is unpacked in turns with what else there is to do
        return [piece]


class HttpClient:
    """A pool of connections along one route. Use as an async context manager, in a loop."""

    def __init__(self, route: Route) -> None:
        self._route = route
        self._heads = ResponseHeads()
        self._dialer = Dialer(route, self._heads)
        self._pool = Pool(self._dialer)
        self._addresses = ServerAddresses()
        proxy = self._dialer.proxy
        self._request_heads = RequestHeads(
            RequestDefaults(
                "gzip" if route.compressed else "identity",
                is_absolute=proxy is not None,
                proxy_authorization=proxy.authorization if proxy is not None else "",
            )
        )
        self._turns = asyncio.Semaphore(_REQUESTS_AT_ONCE)
        self._streams: set[ClientConnection] = set()
        self._under_way = 0
        self._is_retired = False

    async def __aenter__(self) -> HttpClient:
        return self

    async def __aexit__(self, *exc: object) -> None:
        await self.close()

    async def close(self) -> None:
        """Close every connection; what is under way fails."""
        self._pool.close()
        if self._route.given is not None:
            self._route.given.close()
        await asyncio.sleep(0)  # sockets are closed at the end of a turn

    async def retire(self) -> None:
        """End all streams now, and the rest once the requests under way are answered."""
        self._is_retired = True
        for connection in list(self._streams):
            connection.abort()
        self._close_if_done()

    async def request(
        self,
        method: str,
        url: str,
        headers: RequestHeaders,
        body: bytes | None,
        *,
        answer_bytes_max: int | None = None,
    ) -> HttpResponse:
        """Send, and read the whole answer; a longer one than ``answer_bytes_max`` is a
        ProtocolError, and its connection is closed."""
        self._under_way += 1
        try:
            await self._turns.acquire()
            try:
                opened = await self._ask(method, url, headers, body)
                if 300 <= opened.status < 400:
                    opened = await self._followed(opened, method, url, headers, body)
                try:
                    found = opened.whole_nowait()
                    if found is None:
                        found = await opened.whole(answer_bytes_max)
                    elif answer_bytes_max is not None and len(found) > answer_bytes_max:
                        raise opened.too_long(answer_bytes_max)
                finally:
                    self._pool.give_back(opened.connection)
            finally:
                self._turns.release()
            return HttpResponse(opened.status, opened.headers, found)
        finally:
            self._under_way -= 1
            if self._is_retired:
                self._close_if_done()

    @contextlib.asynccontextmanager
    async def stream(
        self, method: str, url: str, headers: RequestHeaders, body: bytes | None
    ) -> AsyncIterator[ByteStream]:
        """Send, and leave the answer open while the body of the ``async with`` reads it."""
        if self._is_retired:
            raise ConnectionLost(url, _CLOSED)
        opened = await self._ask(method, url, headers, body)
        if 300 <= opened.status < 400:
            opened = await self._followed(opened, method, url, headers, body)
        connection = opened.connection
        self._streams.add(connection)
        try:
            if self._is_retired:
                raise ConnectionLost(url, _CLOSED)
            yield opened
        finally:
            self._streams.discard(connection)
            self._pool.give_back(connection)  # dropped, if the answer is not at its end

    @contextlib.asynccontextmanager
    async def websocket(
        self,
        url: str,
        headers: RequestHeaders,
        protocols: Sequence[str],
        *,
        message_bytes_max: int,
    ) -> AsyncIterator[ClientWebSocket]:
        """A WebSocket while the body of the ``async with`` lasts. Raises UpgradeRefused."""
        from proreus.net.client.websocket import ClientWebSocket, Handshake

        handshake = Handshake(protocols)
        asked = {**headers, **handshake.headers()}
        async with self.stream("GET", url, asked, None) as opened:
            if opened.status != 101:
                raise UpgradeRefused(
                    HttpResponse(opened.status, opened.headers, await opened.read())
                )
            chosen = handshake.chosen(url, opened.headers)
            socket = ClientWebSocket(url, opened, chosen, message_bytes_max)
            try:
                yield socket
            finally:
                await socket.close()

    def _close_if_done(self) -> None:
        if self._is_retired and not self._under_way:
            self._pool.close()

    async def _followed(
        self,
        opened: ByteStream,
        method: str,
        url: str,
        headers: RequestHeaders,
        body: bytes | None,
    ) -> ByteStream:
        """The answer that a redirect leads to, if it is followed."""
        if method != "GET" or not self._route.follow_redirects:
            return opened
        redirects = Redirects(url, headers)
        while True:
            try:
                is_elsewhere = redirects.follow(opened.status, opened.headers.get("Location"))
            except BaseException:
                self._pool.give_back(opened.connection)
                raise
            if not is_elsewhere:
                return opened
            self._pool.give_back(opened.connection)
            opened = await self._ask(method, redirects.url, redirects.headers, body)

    async def _ask(
        self, method: str, url: str, headers: RequestHeaders, body: bytes | None
    ) -> ByteStream:
        """An answer that has begun; its connection is to be given back."""
        address, target = self._addresses.split(url)
        head = self._request_heads.encoded(method, address, target, headers, body)
        origin = address.origin
        connection = self._pool.take_idle(origin) or await self._pool.take_new(origin, url)
        try:
            if not self._may_send(method):
                raise NotPermitted(url, "this client must not write any more")
            answer = connection.send(url, method, head, body)
            answer.may_switch = "Upgrade" in headers
            found = await answer.wait_head()
            if connection.is_new:
                connection.is_new = False
                self._dialer.remember_session(origin, connection)
            return ByteStream(connection, answer, found, unpacks=self._route.decompress)
        except BaseException:
            self._pool.give_back(connection)
            raise

    def _may_send(self, method: str) -> bool:
        """Asked between getting a connection and sending on it: no wait is in between."""
        return method == "GET" or self._route.permit is None or self._route.permit()
