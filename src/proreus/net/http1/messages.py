"""What a handler gets and what it answers: ``Request``, ``Response``, or a stream.

Streams hand their chunks straight to the transport, so a watcher costs no
task per event.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Iterator, Mapping
from http import HTTPStatus
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from multidict import CIMultiDictProxy

from proreus.lazy_dataclass import dataclass

if TYPE_CHECKING:
    from proreus.net.http1.carrier import Carrier

LAST_CHUNK = b"0\r\n\r\n"
_STATUS_LINES = {s.value: f"HTTP/1.1 {s.value} {s.phrase}\r\n".encode() for s in HTTPStatus}


class BodyTooLarge(Exception):
    """The request's body is longer than the handler allows."""


class BodyUnreadable(Exception):
    """The client broke off, or its chunks are malformed."""


class Head(NamedTuple):
    """The start of a request: what its line and its headers say."""

    method: str
    target: str
    headers: CIMultiDictProxy[str]
    version: tuple[int, int] = (1, 1)
    should_close: bool = False


class RequestBody(Protocol):
    """What follows a head, as it arrives."""

    @property
    def has_arrived(self) -> bool:
        """Whether everything has arrived, read or not."""
        ...

    def is_eof(self) -> bool:
        """Whether everything has arrived and was read."""
        ...

    async def readany(self) -> bytes:
        """What has arrived, b"" at the end. Raises BodyUnreadable."""
        ...


class _NoBody:
    has_arrived = True

    def is_eof(self) -> bool:
        return True

    async def readany(self) -> bytes:
        return b""


NO_BODY = _NoBody()


class WholeBody:
    """One that came with its head, as small ones do."""

    __slots__ = ("_data",)
    has_arrived = True

    def __init__(self, data: bytes) -> None:
        self._data = data

    def __len__(self) -> int:
        return len(self._data)

    def is_eof(self) -> bool:
        return not self._data

    def take(self) -> bytes:
        data, self._data = self._data, b""
        return data

    async def readany(self) -> bytes:
        return self.take()


class _TappedBody:
    """A body whose pieces are also given to somebody else."""

    def __init__(self, body: RequestBody, taken: Callable[[bytes], object]) -> None:
        self._body = body
        self._taken = taken

    @property
    def has_arrived(self) -> bool:
        return self._body.has_arrived

    def is_eof(self) -> bool:
        return self._body.is_eof()

    async def readany(self) -> bytes:
        piece = await self._body.readany()
        self._taken(piece)
        return piece


class _ReadAhead:
    """A body of which the beginning was read already."""

    def __init__(self, pieces: list[bytes], rest: RequestBody) -> None:
        self._pieces = pieces
        self._rest = rest

    @property
    def has_arrived(self) -> bool:
        return self._rest.has_arrived

    def is_eof(self) -> bool:
        return not self._pieces and self._rest.is_eof()

    async def readany(self) -> bytes:
        return self._pieces.pop(0) if self._pieces else await self._rest.readany()


class Pieces(NamedTuple):
    """A large body that is made while it is sent, each piece once the one before has left.

    Memory of the size of a list would have to be fetched from the system, page by page, which
    costs more than filling it.
    """

    size: int
    pieces: Iterator[bytes]


class Chunks(NamedTuple):
    """A body whose size is not known before all of it has been made; sent as it is made.

    What is raised while it is made breaks the connection off: the client has the head already.
    """

    pieces: AsyncIterator[bytes]


class Response(NamedTuple):
    """A whole answer. ``headers`` without Content-Length and Date, which are added."""

    status: int
    headers: tuple[tuple[str, str], ...]
    body: bytes | Pieces | Chunks = b""
    close: bool = False


@dataclass(frozen=True, slots=True)
class Streamed:
    """The handler has already answered, through a stream."""

    keep_alive: bool = True
    status: int = 200


Answer = Response | Streamed
Handler = Callable[["Request"], Awaitable[Answer]]


class Request:
    """One request; ``raw_path_only`` and ``raw_query`` as sent, still escaped."""

    __slots__ = (
        "_body",
        "carrier",
        "headers",
        "method",
        "on_started",
        "raw_path_only",
        "raw_query",
        "version",
    )

    def __init__(self, carrier: Carrier, head: Head, body: RequestBody) -> None:
        self.carrier = carrier
        self._body = body
        self.on_started: Callable[[int], None] | None = None  # called when a stream begins
        self.method, target, self.headers, self.version, _ = head
        if not target.startswith("/"):
            _, slash, path = target.partition("://")[2].partition("/")
            target = slash + path  # a proxy's form, with scheme and host
        if "#" in target:
            target = target.partition("#")[0]
        self.raw_path_only, _, self.raw_query = target.partition("?")

    @property
    def transport(self) -> asyncio.Transport:
        """Raises ConnectionResetError once the client is gone."""
        return self.carrier.require_transport()

    @property
    def peer_certificate(self) -> Mapping[str, Any] | None:
        """The verified client certificate as ``ssl`` describes it, None without one."""
        transport = self.carrier.transport
        return (transport.get_extra_info("peercert") or None) if transport else None

    @property
    def peer_address(self) -> str:
        """The IP address the connection comes from, "" once it is gone."""
        peer = self._about("peername")
        return peer[0].removeprefix("::ffff:") if isinstance(peer, tuple) else ""

    @property
    def is_connected(self) -> bool:
        return self.carrier.transport is not None

    def _about(self, name: str) -> Any:
        transport = self.carrier.transport
        return transport.get_extra_info(name) if transport else None

    @property
    def content_length(self) -> int:
        """0 if the request does not say."""
        return int(self.headers.get("Content-Length", 0))

    @property
    def has_arrived(self) -> bool:
        """Whether reading the body needs no waiting."""
        return self._body.has_arrived

    async def read_body(self, limit: int, keep: Callable[[int], None] | None = None) -> bytes:
        """``keep`` is called with the size of each piece before it is kept, and may raise.

        Raises BodyTooLarge as soon as the limit is passed, BodyUnreadable.
        """
        body = self._body
        if body is NO_BODY:
            return b""
        if self.content_length > limit:
            raise BodyTooLarge
        if isinstance(body, WholeBody):
            if keep is not None:
                keep(len(body))
            return body.take()
        self._ask_for_body()
        pieces: list[bytes] = []
        size = 0
        while piece := await body.readany():
            size += len(piece)
            if size > limit:
                raise BodyTooLarge
            if keep is not None:
                keep(len(piece))
            pieces.append(piece)
        return pieces[0] if len(pieces) == 1 else b"".join(pieces)

    async def read_ahead(self, limit: int) -> None:
        """Wait for the body, or for ``limit`` bytes of it; who reads it later gets all of it, or
        what is wrong with it."""
        body = self._body
        if body is NO_BODY or self.content_length > limit:
            return
        self._ask_for_body()
        pieces: list[bytes] = []
        self._body = _ReadAhead(pieces, body)
        with contextlib.suppress(BodyUnreadable):
            while sum(map(len, pieces)) <= limit and (piece := await body.readany()):
                pieces.append(piece)

    def _ask_for_body(self) -> None:
        """Of a client that waits to be asked."""
        waits = "Expect" in self.headers and self.headers["Expect"].lower() == "100-continue"
        if waits and not isinstance(self._body, _ReadAhead):
            self.carrier.send_continue()

    def tap_body(self, taken: Callable[[bytes], object]) -> None:
        """``taken`` is called with each piece of the body that the handler reads."""
        if self._body is not NO_BODY:
            self._body = _TappedBody(self._body, taken)

    def open_stream(self, headers: Iterable[tuple[str, str]], status: int = 200) -> ChunkedStream:
        """Send the head of an answer now; its body is what is written on the stream."""
        if self.on_started is not None:
            self.on_started(status)
        return self.carrier.open_stream(self, headers, status)

    async def wait_written(self) -> None:
        """Until the client has taken what was written. Raises ConnectionResetError."""
        await self.carrier.wait_written()


class ChunkedStream:
    """Chunks written on the transport without waiting: the reader of ``buffered`` sets the limit.

    ``write_chunk`` takes what ``chunk_of`` made, once for all streams that send it. Without chunks
    (HTTP/1.0, HTTP/2) what is written is the body.
    """

    __slots__ = ("is_chunked", "transport")

    def __init__(self, transport: asyncio.Transport, *, chunked: bool) -> None:
        self.transport = transport
        self.is_chunked = chunked

    @property
    def is_closing(self) -> bool:
        return self.transport.is_closing()

    @property
    def buffered(self) -> int:
        """Bytes the kernel has not taken yet."""
        return self.transport.get_write_buffer_size()

    def write_chunk(self, chunk: bytes) -> None:
        if not self.transport.is_closing():
            self.transport.write(chunk)

    def write(self, data: bytes) -> None:
        if data:
            self.write_chunk(chunk_of(data) if self.is_chunked else data)

    def end(self) -> None:
        if self.is_chunked:
            self.write_chunk(LAST_CHUNK)

    def abort(self) -> None:
        """Drop the connection, with what was not sent yet."""
        self.transport.abort()


def chunk_of(data: bytes) -> bytes:
    """One chunk of HTTP/1.1's chunked coding; of no data it would be the last one."""
    return b"%x\r\n%b\r\n" % (len(data), data)


def head_of(status: int, headers: Iterable[tuple[str, str]], date: bytes) -> bytes:
    """A head without its last empty line."""
    lines = "\r\n".join(map(": ".join, headers))
    line = _STATUS_LINES.get(status) or f"HTTP/1.1 {status} Unknown\r\n".encode()
    end = b"\r\n" if lines else b""
    return b"%b%b%b%b" % (line, lines.encode("latin-1", "replace"), end, date)
