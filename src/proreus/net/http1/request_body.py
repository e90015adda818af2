"""What follows a head: as many bytes as Content-Length says, or chunks.

Framing is pure: it takes bytes as they come and says which belong to the body and which come
behind it.
"""

from __future__ import annotations

import asyncio
import re
from collections import deque
from typing import Protocol

from proreus.net.http1.messages import BodyUnreadable
from proreus.net.http1.request_head import HEADER_LINES

_BUFFER_BYTES = 128 * 1024
_CRLF = b"\r\n"
# A size, perhaps extensions, which mean nothing to anybody (RFC 9112, 7.1.1).
_SIZE_LINE = re.compile(rb"([0-9A-Fa-f]{1,15})(?:[ \t]*;[^\x00-\x08\x0a-\x1f\x7f]*)?")
_HEX = frozenset(b"0123456789abcdefABCDEF")
_LINES_MAX = 4096  # of one size, or of all trailers


class BadChunk(Exception):
    """The chunks are malformed: where the body ends cannot be known."""


class Framing(Protocol):
    @property
    def is_done(self) -> bool:
        """Whether the body has ended."""
        ...

    def take(self, data: bytes) -> tuple[bytes, bytes]:
        """Of ``data``, the body's bytes and, once it is done, what comes behind it.

        Raises BadChunk.
        """
        ...


class Sized:
    """So many bytes."""

    __slots__ = ("_missing",)

    def __init__(self, length: int) -> None:
        self._missing = length

    @property
    def is_done(self) -> bool:
        return not self._missing

    def take(self, data: bytes) -> tuple[bytes, bytes]:
        if len(data) <= self._missing:
            self._missing -= len(data)
            return data, b""
        cut, self._missing = self._missing, 0
        return data[:cut], data[cut:]


class Chunked:
    """Chunks, until an empty one and the trailers behind it, which are dropped.

    ``_line`` is what has come of a line: a chunk's size, the end of its data, or trailers.
    """

    __slots__ = ("_line", "_missing", "_read")

    def __init__(self) -> None:
        self._line = b""
        self._missing = 0  # of the chunk's data
        self._read = self._read_size

    @property
    def is_done(self) -> bool:
        return self._read == self._read_nothing

    def take(self, data: bytes) -> tuple[bytes, bytes]:
        pieces: list[bytes] = []
        if self._line:
            data, self._line = self._line + data, b""
        place: int | None = 0
        while place is not None and place < len(data) and not self.is_done:
            place = self._read(data, place, pieces)
        return b"".join(pieces), b"" if place is None else data[place:]

    # Each reads from ``start`` on and returns where it stopped, None if it needs more. Only what
    # belongs to the body is copied: many small chunks cost no more than one large one.

    def _read_size(self, data: bytes, start: int, pieces: list[bytes]) -> int | None:
        end = data.find(_CRLF, start, start + _LINES_MAX)
        if end < 0:
            if data[start] not in _HEX:  # noise is refused at once, and not awaited to its end
                raise BadChunk("the size of a chunk is malformed")
            return self._keep(data, start, _LINES_MAX)
        line = _SIZE_LINE.fullmatch(data, start, end)
        if line is None:
            raise BadChunk("the size of a chunk is malformed")
        self._missing = int(line[1], 16)
        self._read = self._read_data if self._missing else self._read_trailers
        return end + 2

    def _read_data(self, data: bytes, start: int, pieces: list[bytes]) -> int | None:
        piece = data[start : start + self._missing]
        self._missing -= len(piece)
        pieces.append(piece)
        if self._missing:
            return None
        self._read = self._read_data_end
        return start + len(piece)

    def _read_data_end(self, data: bytes, start: int, pieces: list[bytes]) -> int | None:
        end = data[start : start + 2]
        if len(end) < 2 and _CRLF.startswith(end):
            return self._keep(data, start, 2)
        if end != _CRLF:
            raise BadChunk("a chunk is longer than its size")
        self._read = self._read_size
        return start + 2

    def _read_trailers(self, data: bytes, start: int, pieces: list[bytes]) -> int | None:
        """All together: they end at an empty line."""
        if data.startswith(_CRLF, start):
            self._read = self._read_nothing
            return start + 2
        end = data.find(_CRLF + _CRLF, start, start + _LINES_MAX)
        if end < 0:
            return self._keep(data, start, _LINES_MAX)
        if HEADER_LINES.fullmatch(data, start, end + 2) is None:
            raise BadChunk("a trailer is malformed")
        self._read = self._read_nothing
        return end + 4

    def _read_nothing(self, data: bytes, start: int, pieces: list[bytes]) -> int | None:
        return start

    def _keep(self, data: bytes, start: int, limit: int) -> int | None:
        if len(data) - start >= limit:
            raise BadChunk("a line between chunks has no end")
        self._line = data[start:]
        return None


class Flow(Protocol):
    """A connection whose reading can be paused."""

    @property
    def loop(self) -> asyncio.AbstractEventLoop: ...
    def hold(self) -> None: ...
    def release(self) -> None: ...


class IncomingBody:
    """A body as it arrives. Its connection is not read while too much of it waits."""

    def __init__(self, flow: Flow, framing: Framing) -> None:
        self._flow = flow
        self._framing = framing
        self._pieces: deque[bytes] = deque()
        self._waiting_bytes = 0
        self._arrival: asyncio.Future[None] | None = None
        self._failure: BadChunk | None = None

    def feed(self, data: bytes) -> bytes:
        """Takes what belongs to it; the rest belongs to the next request. Raises BadChunk, to who
        reads the body too."""
        try:
            piece, rest = self._framing.take(data)
        except BadChunk as failure:
            self._failure = failure
            self._wake()
            raise
        if piece:
            self._pieces.append(piece)
            self._waiting_bytes += len(piece)
            if self._waiting_bytes > _BUFFER_BYTES and not self._framing.is_done:
                self._flow.hold()
        if piece or self._framing.is_done:
            self._wake()
        return rest

    def _wake(self) -> None:
        if self._arrival is not None and not self._arrival.done():
            self._arrival.set_result(None)

    @property
    def has_arrived(self) -> bool:
        return self._framing.is_done

    def is_eof(self) -> bool:
        return self._framing.is_done and not self._pieces

    async def readany(self) -> bytes:
        """What has arrived, waiting for it if need be; b"" at the end. Raises BodyUnreadable.

        A client that leaves ends the task that waits here.
        """
        while not self._pieces:
            if self._failure is not None:
                raise BodyUnreadable(str(self._failure)) from self._failure
            if self._framing.is_done:
                return b""
            self._arrival = self._flow.loop.create_future()
            await self._arrival
        found = self._pieces[0] if len(self._pieces) == 1 else b"".join(self._pieces)
        self._pieces.clear()
        self._waiting_bytes = 0
        self._flow.release()
        return found
