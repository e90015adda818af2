"""One client's connection that speaks HTTP/2: its streams, and whose bytes are sent next.

Receives: bytes, from the transport.  Hands on: requests, to ``stream``.
``session`` is the protocol; here is what it is about: tasks, queues, the socket. Frames that are
made in one turn of the loop leave in one write, encrypted together: a change for a hundred watches
of one client is one call. Streams that wait for the socket or for the client take turns, some
frames each.

Invariant: no more than ``_WRITE_BYTES`` of bodies are in the transport; what else there is waits in
its stream, where ``get_write_buffer_size`` counts it.
"""

from __future__ import annotations

import asyncio
import random
import socket
from typing import TYPE_CHECKING, assert_never, cast

from proreus.net.http1.connection import NOTSENT_LOWAT, UNSENT_BYTES
from proreus.net.http2 import frames
from proreus.net.http2.events import (
    BodyReceived,
    Event,
    RequestBegun,
    StreamFlow,
    StreamReset,
    WindowGrown,
)
from proreus.net.http2.frames import Bytes, ErrorCode, ProtocolBroken
from proreus.net.http2.header_blocks import NO_TABLE
from proreus.net.http2.session import ServerSession
from proreus.net.http2.stream import Http2Stream, StreamTransport
from proreus.net.tls.transport import TlsTransport

if TYPE_CHECKING:
    from proreus.net.http1.server import HttpServer

_WRITE_BYTES = 96 * 1024  # at once: encrypted and sent in 0.15 to 0.25 ms
_TURN_BYTES = 64 * 1024  # of one stream, before the others that wait
# Answers to pings and settings, and heads, that a client may leave unread.
_UNREAD_BYTES_MAX = 512 * 1024


class Http2Connection(asyncio.Protocol):
    """``idle_since``: when it was last at work, unless ``is_busy``. ``at_work``: streams.
    ``goaway_chance``: of each answer, to be the last but for those of requests under way."""

    def __init__(
        self,
        server: HttpServer,
        loop: asyncio.AbstractEventLoop,
        streams_max: int,
        goaway_chance: float = 0.0,
    ) -> None:
        self.server = server
        self.loop = loop
        self.transport: asyncio.Transport | None = None
        self.idle_since = server.clock.monotonic()
        self._session = ServerSession(streams_max, server.clock.monotonic)
        self._streams: dict[int, Http2Stream] = {}
        self.at_work: set[Http2Stream] = set()  # whose tasks run, taken back or not
        self._queued: dict[StreamTransport, None] = {}  # those that have something to send
        self._made: list[Bytes] = []  # frames of this turn
        self._made_bytes = 0
        self._goaway_chance = goaway_chance
        self._is_blocked = self._is_flush_due = False
        self._is_finishing = False  # closed by us, when all is answered
        self._table = NO_TABLE  # before the first block alone

    @property
    def is_busy(self) -> bool:
        return bool(self.at_work)

    def require_transport(self) -> asyncio.Transport:
        if self.transport is None:
            raise ConnectionResetError("the client is gone")
        return self.transport

    # From the transport

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = cast(asyncio.Transport, transport)
        self.server.connections.add(self)
        self.transport.set_write_buffer_limits(0)
        if isinstance(transport, TlsTransport):
            transport.reads_on = True  # requests that came together are answered together
        if NOTSENT_LOWAT is not None:
            connected = transport.get_extra_info("socket")
            connected.setsockopt(socket.IPPROTO_TCP, NOTSENT_LOWAT, UNSENT_BYTES)
        if self.server.is_ending:
            self._is_finishing = True
            self._session.go_away()
        self._flush()

    def connection_lost(self, exc: BaseException | None) -> None:
        self.transport = None
        self.server.connections.discard(self)
        self._queued.clear()
        self._made.clear()
        self._drop_streams()

    def pause_writing(self) -> None:
        self._is_blocked = True

    def resume_writing(self) -> None:
        self._is_blocked = False
        self._pump()

    def data_received(self, data: bytes) -> None:
        if self.transport is None or self.transport.is_closing():
            return
        try:
            events = self._session.receive(data)
        except ProtocolBroken as error:
            self._break(error.code, str(error))
            return
        for event in events:
            self._take(event)
        if self._session.replies:
            self._want_flush()

    def _take(self, event: Event) -> None:
        match event:
            case RequestBegun(flow, head, has_body):
                begun = Http2Stream(self, flow, head, has_body=has_body)
                self._streams[flow.number] = begun
                self.at_work.add(begun)
            case BodyReceived(flow, data):
                if (stream := self._streams.get(flow.number)) is not None:
                    stream.received(event)
                else:
                    self._session.credit(flow, len(data))
            case StreamReset(flow):
                if (stream := self._streams.pop(flow.number, None)) is not None:
                    stream.lost()
            case WindowGrown(None):
                self._pump_all()
            case WindowGrown(flow):
                if flow is not None and (stream := self._streams.get(flow.number)) is not None:
                    self.send_from(stream.out)
            case _:
                assert_never(event)

    # From streams

    def send_head(self, flow: StreamFlow, block: bytes, *, ends: bool) -> None:
        self._make([frames.headers(flow.number, self._table + block, ends=ends)], len(block))
        self._table = b""
        if ends:
            self._ended(flow)

    def send_from(self, out: StreamTransport) -> None:
        """What waits in a stream, as far as its client and the socket take it."""
        if out.queue:
            self._queued[out] = None
            self._pump()

    def reset(self, flow: StreamFlow, code: ErrorCode) -> None:
        self._session.reset(flow, code)
        self._streams.pop(flow.number, None)
        self._want_flush()

    def credit(self, flow: StreamFlow, size: int) -> None:
        self._session.credit(flow, size)
        if self._session.replies:
            self._want_flush()

    def done(self, stream: Http2Stream) -> None:
        """Its task is over."""
        self.at_work.discard(stream)
        if self._goaway_chance and random.random() < self._goaway_chance:
            self._send_elsewhere()
        if not self.at_work:
            self.idle_since = self.server.clock.monotonic()
            self.server.request_done()
            self._close_if_done()

    # Sending

    def _pump_all(self) -> None:
        for stream in self._streams.values():
            if stream.out.queue:
                self._queued[stream.out] = None
        self._pump()

    def _pump(self) -> None:
        """A few frames of each stream in turn, until all that can be sent is made."""
        session = self._session
        while self._queued and not self._is_blocked and self.transport is not None:
            out = next(iter(self._queued))
            del self._queued[out]
            if not out.queue:
                continue
            flow, size = out.flow, len(out.queue[0])
            if size:
                size = min(size, session.room(flow), _TURN_BYTES)
                if size <= 0:
                    if session.outgoing <= 0:
                        self._queued[out] = None
                        return  # until its client takes more on all streams
                    continue  # until its client takes more of this one
            piece = out.taken(size)
            is_last = out.is_ended and not out.queue
            self._make(session.data(flow, piece, ends=is_last), size)
            if is_last:
                self._ended(flow)
            elif out.queue:
                self._queued[out] = None

    def _ended(self, flow: StreamFlow) -> None:
        self._session.ended(flow)
        self._streams.pop(flow.number, None)
        self._close_if_done()

    def _make(self, parts: list[Bytes], size: int) -> None:
        self._made += parts
        self._made_bytes += size
        if self._made_bytes >= _WRITE_BYTES:
            self._flush()
        else:
            self._want_flush()

    def _want_flush(self) -> None:
        if not self._is_flush_due:
            self._is_flush_due = True
            self.loop.call_soon(self._flush_due)

    def _flush_due(self) -> None:
        self._is_flush_due = False
        self._flush()

    def _flush(self) -> None:
        replies, made = self._session.replies, self._made
        if not (made or replies) or self.transport is None:
            return
        made += replies
        replies.clear()
        data = made[0] if len(made) == 1 else b"".join(made)
        made.clear()
        self._made_bytes = 0
        self.transport.write(data)
        if self.transport.get_write_buffer_size() > _UNREAD_BYTES_MAX:
            self.transport.abort()  # it asks and does not read

    # The end

    def _break(self, code: ErrorCode, why: str) -> None:
        self._session.go_away(code, why)
        self._flush()
        self._drop_streams()
        self.close()

    def _drop_streams(self) -> None:
        streams = list(self._streams.values())
        self._streams.clear()
        for stream in streams:
            stream.lost()

    def _send_elsewhere(self) -> None:
        """Behind a load balancer the client's next connection may be another server's. It closes
        this one itself: what it sends meanwhile would meet a closed socket, whose reset takes
        answers with it that have not been read. If it does not, the connection is idle."""
        self._session.go_away()
        self._want_flush()

    def finish(self) -> None:
        """What is under way is answered, and nothing else (RFC 9113, 6.8)."""
        self._is_finishing = True
        self._session.go_away()
        self._flush()
        if not self.at_work:
            self.close()

    def _close_if_done(self) -> None:
        if self._is_finishing and not self.at_work and not self._streams:
            self.close()

    def drop(self) -> None:
        """It was idle for too long."""
        self.finish()

    def close(self) -> None:
        self._flush()
        if self.transport is not None:
            self.transport.close()

    async def end(self) -> None:
        """Cancel what is at work and wait for it."""
        tasks = [stream.task for stream in self.at_work]
        for task in tasks:
            task.cancel()
        if tasks:
            await asyncio.wait(tasks)
        self.finish()

    def __repr__(self) -> str:
        return f"<Http2Connection: {self._session}, {len(self.at_work)} at work>"
