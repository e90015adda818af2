"""How a connection is read: heads, bodies, and after an upgrade whatever the handler takes over.

HEADS → (InBody) → HEADS …          one request after another
HEADS → UPGRADING → TakenOver       all bytes go to the handler that has taken the connection over
        UPGRADING → closed          declined: what came behind may be no HTTP
HEADS → (InBody) → ENDED            what came is no HTTP, or the request was the last
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from enum import Enum
from typing import TYPE_CHECKING

from proreus.lazy_dataclass import dataclass
from proreus.net.http1.connection import PIPELINED_MAX, HttpConnection
from proreus.net.http1.messages import NO_BODY, Head, WholeBody
from proreus.net.http1.request_body import BadChunk, Chunked, IncomingBody, Sized
from proreus.net.http1.request_head import (
    HEAD_BYTES_MAX,
    HEAD_END,
    BadHead,
    has_chunks,
    length_of,
    wants_upgrade,
)

if TYPE_CHECKING:
    from proreus.net.http1.server import HttpServer

_TAIL_BYTES = 64 * 1024


class _Reading(Enum):
    """States that need to remember nothing."""

    HEADS = 1
    UPGRADING = 2  # once the request is answered it is known which protocol follows
    ENDED = 3


_HEADS, _UPGRADING, _ENDED = _Reading.HEADS, _Reading.UPGRADING, _Reading.ENDED


@dataclass(frozen=True, slots=True)
class _InBody:
    body: IncomingBody
    then: _Reading


@dataclass(frozen=True, slots=True)
class _TakenOver:
    receive: Callable[[bytes], object]


_State = _Reading | _InBody | _TakenOver


class RequestReader(HttpConnection):
    """One client's connection, as the server makes it."""

    def __init__(self, server: HttpServer, loop: asyncio.AbstractEventLoop) -> None:
        super().__init__(server, loop)
        self._heads = server.heads
        self._state: _State = _HEADS
        self._unread = b""  # the start of a head, requests whose turn has not come, or a tail
        self._searched = 0  # so much of it has no end of a head, however slowly it comes
        self._reading_paused = False  # read by aiohttp's WebSocket queues under this name

    def data_received(self, data: bytes) -> None:
        state = self._state
        is_next = state is _HEADS and not self._unread and not self.waiting
        if is_next and (found := self._heads.find(data)) is not None:
            head, body = found
            self.requested(head, WholeBody(body) if body else NO_BODY)
            return
        try:
            self._take(state, data)
        except (BadHead, BadChunk):
            self._state, self._unread = _ENDED, b""
            self.broken()

    def _take(self, state: _State, data: bytes) -> None:
        """Raises BadHead, BadChunk."""
        if isinstance(state, _TakenOver):
            state.receive(data)
            return
        if isinstance(state, _InBody):
            data = state.body.feed(data)
            if not state.body.has_arrived:
                return
            self._state = state.then
        if self._state is not _ENDED:
            self._unread = self._unread + data if self._unread else data
            self._read_heads()

    def _read_heads(self) -> None:
        """Raises BadHead, BadChunk."""
        while self._unread and self._state is _HEADS:
            if len(self.waiting) >= PIPELINED_MAX:
                self.hold()
                return
            end = self._unread.find(HEAD_END, self._searched, HEAD_BYTES_MAX + len(HEAD_END))
            if end < 0:
                self._check_beginning()
                self._searched = max(0, len(self._unread) - len(HEAD_END) + 1)
                return
            self._searched = 0
            head = self._heads.read(self._unread, end + 4)
            self._unread = self._unread[end + 4 :]
            self._begin(head)
        if self._state is _UPGRADING and len(self._unread) >= _TAIL_BYTES:
            self.hold()

    def _check_beginning(self) -> None:
        """So that noise is answered at once and not awaited to its end. Raises BadHead."""
        if len(self._unread) > HEAD_BYTES_MAX:
            raise BadHead("a head is too long")
        if not self._unread[:1].isalpha():
            raise BadHead("no request begins like this")

    def _begin(self, head: Head) -> None:
        """Raises BadChunk."""
        length, is_chunked = length_of(head), has_chunks(head)
        has_body = bool(length) or is_chunked
        then = _HEADS
        if wants_upgrade(head):
            # With a body it is declined: no protocol we know begins like that.
            then = _ENDED if has_body else _UPGRADING
            head = head._replace(should_close=True)  # unless a handler takes the connection over
        elif head.should_close:
            then = _ENDED
        if not has_body:
            self._state = then
            self.requested(head, NO_BODY)
            return
        body = IncomingBody(self, Sized(length) if length else Chunked())
        self.requested(head, body)
        self._unread = body.feed(self._unread)
        self._state = then if body.has_arrived else _InBody(body, then)

    def read_on(self) -> None:
        if self._unread and self._state is _HEADS:
            self.data_received(b"")
            if len(self.waiting) < PIPELINED_MAX:
                self.release()

    def hand_over(self, receive: Callable[[bytes], object]) -> None:
        if self._state is not _UPGRADING:
            raise RuntimeError("only a connection that asked for an upgrade is handed over")
        tail, self._unread = self._unread, b""
        self._state = _TakenOver(receive)
        if tail:
            receive(tail)
        self.release()

    def connection_lost(self, exc: BaseException | None) -> None:
        super().connection_lost(exc)
        if isinstance(self._state, _TakenOver):
            self._state.receive(b"")

    # Who holds what the client sends: the buffers above, or after an upgrade aiohttp's queue.

    def hold(self) -> None:
        if not self._reading_paused and self.transport is not None:
            self._reading_paused = True
            self.transport.pause_reading()

    def release(self) -> None:
        if self._reading_paused and self.transport is not None:
            self._reading_paused = False
            self.transport.resume_reading()

    pause_reading = hold
    resume_reading = release
