"""A connection to a server: one request, its answer, then perhaps the next.

IDLE → an answer (its head, then its body) → IDLE …   one exchange after another
       the answer of a 101 → handed over              all bytes go to who has taken them over
       anything → OVER                                closed, lost, or what came is no HTTP

Invariant: a connection is ``is_reusable`` only after a whole answer with nothing behind it, when
all of the request was sent. What breaks is kept for whoever reads the answer, as a TransportError.
The server is not read while too much of an answer waits for its reader.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable
from enum import Enum
from typing import cast

from proreus.lazy_dataclass import dataclass
from proreus.net.client.response_body import UntilClose
from proreus.net.client.response_head import (
    BadResponse,
    ResponseHead,
    ResponseHeads,
    check_beginning,
)
from proreus.net.client.transport_error import ConnectionLost, ProtocolError, TransportError
from proreus.net.http1.request_body import BadChunk, Framing
from proreus.net.http1.request_head import HEAD_BYTES_MAX, HEAD_END

_WAITING_BYTES_MAX = 512 * 1024
_INTERIM_MAX = 16
_JOINED_BYTES_MAX = 64 * 1024
_SWITCHING = 101
_CUT = "the server closed the connection in the middle"


class _State(Enum):
    IDLE = 1
    OVER = 2


@dataclass(frozen=True, slots=True)
class _HandedOver:
    receive: Callable[[bytes], object]  # b"" tells that the connection is over


class ClientConnection(asyncio.Protocol):
    """See the module. ``transport`` is None before it is open and after its end."""

    def __init__(self, loop: asyncio.AbstractEventLoop, heads: ResponseHeads) -> None:
        self.loop = loop
        self._heads = heads
        self._state: _State | IncomingAnswer | _HandedOver = _State.IDLE
        self._unread = b""  # the start of a head
        self._interim = 0
        self._room: asyncio.Future[None] | None = None  # while the server takes no more
        self._reading_paused = False  # read by aiohttp's WebSocket queues under this name
        self._is_last = False
        self.transport: asyncio.Transport | None = None
        self.on_opened: asyncio.Future[None] | None = None  # done by then
        self.is_new = True  # nothing was answered on it yet

    # Exchanges

    def send(self, url: str, method: str, head: bytes, body: bytes | None) -> IncomingAnswer:
        """Begin an exchange; the connection must be idle."""
        assert self._state is _State.IDLE, "one exchange at a time"
        answer = self._state = IncomingAnswer(self, url, method)
        transport = self.transport
        if transport is None or transport.is_closing():
            self._end(_CUT)
        elif not body:
            transport.write(head)
        elif len(body) <= _JOINED_BYTES_MAX:
            transport.write(head + body)
        else:
            transport.write(head)
            transport.write(body)
        return answer

    @property
    def is_idle(self) -> bool:
        """Whether one that waited for its next request may still carry it."""
        return self._state is _State.IDLE

    @property
    def is_reusable(self) -> bool:
        transport = self.transport
        return (
            self._state is _State.IDLE
            and not self._is_last
            and transport is not None
            and not transport.is_closing()
            and not transport.get_write_buffer_size()
        )

    def close(self) -> None:
        """Say good-bye and do not wait for the server's."""
        if self.transport is not None:
            self.transport.close()
            self.transport.abort()

    def abort(self, why: str = "the client was closed") -> None:
        self._end(why)
        if self.transport is not None:
            self.transport.abort()

    # From the transport

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = cast(asyncio.Transport, transport)  # of a stream socket
        if self.on_opened is not None and not self.on_opened.done():
            self.on_opened.set_result(None)

    def data_received(self, data: bytes) -> None:
        state = self._state
        if isinstance(state, IncomingAnswer):
            try:
                if state.framing is None:
                    self._read_head(state, data)
                else:
                    self._read_body(state, state.framing, data)
            except (BadResponse, BadChunk) as error:
                self._fail(ProtocolError(state.url, f"not HTTP: {error}"))
        elif isinstance(state, _HandedOver):
            state.receive(data)
        elif state is _State.IDLE:
            self.abort()  # nothing was asked

    def _read_head(self, answer: IncomingAnswer, data: bytes) -> None:
        """Raises BadResponse, BadChunk."""
        searched = max(0, len(self._unread) - len(HEAD_END) + 1)
        data = self._unread + data if self._unread else data
        while (end := data.find(HEAD_END, searched, HEAD_BYTES_MAX + len(HEAD_END))) >= 0:
            head = self._heads.read(data, end)
            data, searched = data[end + len(HEAD_END) :], 0
            if not head.is_interim:
                self._unread = b""
                self._begin(answer, head, data)
                return
            self._interim += 1
            if self._interim > _INTERIM_MAX:
                raise BadResponse("too many interim answers")
        check_beginning(data)
        if len(data) > HEAD_BYTES_MAX:
            raise BadResponse("a head is too long")
        self._unread = data

    def _begin(self, answer: IncomingAnswer, head: ResponseHead, data: bytes) -> None:
        """Raises BadResponse, BadChunk."""
        if head.status == _SWITCHING and not answer.may_switch:
            raise BadResponse("another protocol that nobody asked for")
        self._interim = 0
        self._is_last = not head.keeps_alive
        framing = answer.begin(head)
        if data or framing.is_done:
            self._read_body(answer, framing, data)
        else:
            answer.wake()

    def _read_body(self, answer: IncomingAnswer, framing: Framing, data: bytes) -> None:
        """Raises BadChunk."""
        piece, rest = framing.take(data)
        if framing.is_done:
            self._state = _State.IDLE
            self._is_last = self._is_last or bool(rest)
            answer.take(piece)
            answer.end(None)
            if self._reading_paused:
                self.resume_reading()
        elif answer.take(piece) > _WAITING_BYTES_MAX:
            self.pause_reading()

    def eof_received(self) -> None:
        self._end(None)

    def connection_lost(self, exc: Exception | None) -> None:
        self._end(None if exc is None else getattr(exc, "strerror", "") or str(exc) or _CUT)
        self.transport = None
        self.resume_writing()

    def _end(self, why: str | None) -> None:
        """``why`` it broke; None: the server closed it."""
        state, self._state = self._state, _State.OVER
        if isinstance(state, IncomingAnswer):
            is_whole = why is None and isinstance(state.framing, UntilClose)
            state.end(None if is_whole else ConnectionLost(state.url, why or _CUT))
        elif isinstance(state, _HandedOver):
            state.receive(b"")

    def _fail(self, failure: TransportError) -> None:
        state, self._state = self._state, _State.OVER
        assert isinstance(state, IncomingAnswer), "what arrives otherwise is not read"
        state.end(failure)
        self.abort()

    # After an upgrade

    def hand_over(self, answer: IncomingAnswer, receive: Callable[[bytes], object]) -> None:
        """Give ``receive`` all bytes behind the head of a 101."""
        waiting = answer.taken_pieces()
        if self._state is answer:
            self._state = _HandedOver(receive)
        for piece in waiting:
            receive(piece)
        if self._state is _State.OVER:
            receive(b"")
        self.resume_reading()

    def write(self, data: bytes) -> bool:
        """False if the connection is over."""
        if self.transport is None or self.transport.is_closing():
            return False
        self.transport.write(data)
        return True

    async def wait_room(self) -> None:
        """Until the server has taken most of what was written, or is gone."""
        while self._room is not None:
            await asyncio.shield(self._room)  # others may wait for the same

    # Flow

    def pause_writing(self) -> None:
        self._room = self.loop.create_future()

    def resume_writing(self) -> None:
        if self._room is not None:
            self._room.set_result(None)
            self._room = None

    def pause_reading(self) -> None:
        if not self._reading_paused and self.transport is not None:
            self._reading_paused = True
            self.transport.pause_reading()

    def resume_reading(self) -> None:
        if self._reading_paused and self.transport is not None:
            self._reading_paused = False
            # A transport that is closing reads no more, and some say so.
            with contextlib.suppress(RuntimeError):
                self.transport.resume_reading()


class IncomingAnswer:
    """What a request is answered, as it arrives. One task reads it."""

    __slots__ = (
        "_arrival", "_connection", "_failure", "_is_over", "_method", "_pieces", "_waiting",
        "framing", "head", "may_switch", "url",
    )  # fmt: skip

    def __init__(self, connection: ClientConnection, url: str, method: str) -> None:
        self.url = url
        self.may_switch = False  # to another protocol, by a 101
        self.head: ResponseHead | None = None
        self.framing: Framing | None = None
        self._connection = connection
        self._method = method
        self._pieces: list[bytes] = []
        self._waiting = 0
        self._is_over = False
        self._failure: TransportError | None = None
        self._arrival: asyncio.Future[None] | None = None

    # From the connection

    def begin(self, head: ResponseHead) -> Framing:
        self.head = head
        self.framing = framing = head.framing(self._method)
        return framing

    def take(self, piece: bytes) -> int:
        """How many bytes wait now."""
        if piece:
            self._pieces.append(piece)
            self._waiting += len(piece)
        self.wake()
        return self._waiting

    def end(self, failure: TransportError | None) -> None:
        self._is_over, self._failure = True, failure
        self.wake()

    def wake(self) -> None:
        arrival = self._arrival
        if arrival is not None and not arrival.done():
            arrival.set_result(None)

    # For the reader

    async def wait_head(self) -> ResponseHead:
        """Raises TransportError."""
        while self.head is None:
            if self._is_over:
                raise self._broken()
            self._arrival = self._connection.loop.create_future()
            await self._arrival
        return self.head

    def whole(self) -> bytes | None:
        """All of the body, if nothing of it was read and it has come to its end."""
        if not self._is_over or self._failure is not None:
            return None
        pieces = self.taken_pieces()
        return pieces[0] if len(pieces) == 1 else b"".join(pieces)

    async def read(self) -> bytes:
        """What has arrived, waiting for it if need be; b"" at the end. Raises TransportError."""
        return b"".join(await self.read_pieces())

    async def read_pieces(self) -> list[bytes]:
        """As ``read``, but not put together; none at the end."""
        while not self._pieces:
            if self._is_over:
                if self._failure is not None:
                    raise self._broken()
                return []
            self._arrival = self._connection.loop.create_future()
            await self._arrival
        if self._connection._reading_paused:
            self._connection.resume_reading()
        return self.taken_pieces()

    def taken_pieces(self) -> list[bytes]:
        pieces, self._pieces, self._waiting = self._pieces, [], 0
        return pieces

    def _broken(self) -> TransportError:
        assert self._failure is not None, "it has broken"
        return type(self._failure)(self._failure.url, self._failure.why)
