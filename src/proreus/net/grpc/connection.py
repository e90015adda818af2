"""One connection on the loop: what is written in one turn goes out at once, calls have a deadline,
and a peer that has vanished is found.

All calls have the same time to be answered in, so that one timer serves all of them: the oldest
call is the first that is late.

A peer is pinged when it has said nothing for ten seconds while a stream is open, and at once when
it has said nothing for all the time that a call waited in vain. Without a word in answer the
connection is given up: after five seconds, or after as long as a call may take. So a frozen member
is found by its late calls, and a watch on it moves on soon, too. etcd forbids pings more often than
every 5 s, and without a stream.

The peer's own pings are answered after a tenth of a second. gRPC of Go, which etcd has, measures
with them how fast data comes: it sends the next one with the first data behind an answer. Answered
at once, every lone call would cost one more wake-up and one more write.

Cost of a call: about 12 µs, and its share of a read and a write.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import cast

from proreus.aio.clock import Clock, Timer
from proreus.net.grpc.failures import Code, RpcFailed
from proreus.net.grpc.session import Http2Session
from proreus.net.grpc.stream import Stream
from proreus.net.http2.frames import ProtocolBroken

_TICK_S = 5.0
_PING_EVERY_S = 5.0
_PING_AFTER_TICKS = 2
_LOST_AFTER_TICKS = 3
_ANSWER_PING_S = 0.1


Answered = list[tuple[asyncio.Future[bytes], bytes]]


class Connection(asyncio.Protocol):
    """See the module. ``timeout_s``: how long a call may take."""

    _transport: asyncio.Transport

    def __init__(self, clock: Clock, timeout_s: float) -> None:
        self._clock = clock
        self._timeout_s = timeout_s
        self._loop = asyncio.get_running_loop()
        self._session = Http2Session()
        self._is_flushing = False
        self._due: dict[_Answer, float] = {}  # calls in the order they began
        self._answered: Answered = []  # by what is being read
        self._timer: Timer | None = None
        self._tick: Timer | None = None
        self._silent_ticks = 0
        self._heard_s = clock.monotonic()
        self._pinged_s = float("-inf")
        self._doubt: Timer | None = None
        self._ping_answer: Timer | None = None
        # Done when the peer has answered; with why it will not, if it will not.
        self.ready: asyncio.Future[RpcFailed | None] = self._loop.create_future()
        self.closed: asyncio.Future[None] = self._loop.create_future()

    @property
    def is_usable(self) -> bool:
        return not self._session.ending

    async def call(self, block: bytes, request: bytes) -> bytes:
        """The answer to one request. Raises RpcFailed."""
        answer = _Answer(self._loop, self._answered)
        stream = answer.stream = self._session.begin(block, answer, request, ends=True)
        self._due[answer] = self._clock.monotonic() + self._timeout_s
        if self._timer is None:
            self._timer = self._clock.call_later(self._timeout_s, self._expire)
        self._flush_soon()
        try:
            return await answer.future
        finally:
            del self._due[answer]
            if not answer.is_ended:
                self._session.cancel(stream)
                self._flush_soon()
            if self._session.ending:
                self._close_if_idle()

    @asynccontextmanager
    async def stream(
        self, block: bytes, request: bytes, *, ends: bool
    ) -> AsyncIterator[MessageStream]:
        """Requests (``ends``: one) and answers without a deadline; ended with the body."""
        opened = MessageStream(self)
        opened.stream = self._session.begin(block, opened, request, ends=ends)
        self._flush_soon()
        try:
            yield opened
        finally:
            self._session.cancel(opened.stream)
            self._flush_soon()
            self._close_if_idle()

    def send(self, stream: Stream, request: bytes) -> None:
        self._session.send(stream, request)
        self._flush_soon()

    def taken(self, stream: Stream) -> None:
        self._session.taken(stream)
        if self._session.output:
            self._flush_soon()

    def close(self, why: str) -> None:
        """Give the connection up, and every call on it."""
        self._fail(RpcFailed(Code.UNAVAILABLE, why))

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)  # of a stream socket
        self._tick = self._clock.call_later(_TICK_S, self._listen)
        self._flush()

    def data_received(self, data: bytes) -> None:
        self._silent_ticks = 0
        self._heard_s = self._clock.monotonic()
        session = self._session
        try:
            session.receive(data)
        except ProtocolBroken as wrong:
            self._hand_out()
            self._fail(RpcFailed(Code.UNAVAILABLE, f"the peer broke the protocol: {wrong}"))
            return
        self._hand_out()
        if session.is_ready and not self.ready.done():
            self.ready.set_result(None)
        if session.pings and self._ping_answer is None:
            self._ping_answer = self._clock.call_later(_ANSWER_PING_S, self._answer_pings)
        if session.output:
            self._flush_soon()  # with what those who are answered now will ask
        if session.ending:
            self._close_if_idle()

    def _hand_out(self) -> None:
        """Answers come behind messages of streams: who watches etcd hears of a write before its
        writer goes on, and many others wait for what it hears."""
        for future, message in self._answered:
            if not future.done():
                future.set_result(message)
        self._answered.clear()

    def connection_lost(self, failure: Exception | None) -> None:
        why = str(failure) if failure is not None else "closed by the peer"
        self._fail(RpcFailed(Code.UNAVAILABLE, f"the connection was lost: {why}"))
        if not self.closed.done():
            self.closed.set_result(None)

    def _flush_soon(self) -> None:
        """At the end of this turn of the loop, with what others will have written in it."""
        if not self._is_flushing:
            self._is_flushing = True
            self._loop.call_soon(self._flush)

    def _flush(self) -> None:
        self._is_flushing = False
        output = self._session.output
        if output:
            if not self._transport.is_closing():
                self._transport.write(b"".join(output))
            output.clear()

    def _expire(self) -> None:
        self._timer, now_s = None, self._clock.monotonic()
        for answer, due_s in [*self._due.items()]:
            if due_s > now_s:
                self._timer = self._clock.call_later(due_s - now_s, self._expire)
                break
            is_unsent = not answer.stream.number
            if not answer.is_ended:
                self._session.cancel(answer.stream)
                words = f"no answer in {self._timeout_s:g} s"
                answer.ended(RpcFailed(Code.DEADLINE_EXCEEDED, words, is_unsent=is_unsent))
                if self._heard_s <= due_s - self._timeout_s:
                    self._ping_if_due()
        self._flush_soon()

    def _ping_if_due(self) -> None:
        if self._doubt is None and self._clock.monotonic() >= self._pinged_s + _PING_EVERY_S:
            self._ping()
            self._doubt = self._clock.call_later(self._timeout_s, self._check_ping_answered)

    def _check_ping_answered(self) -> None:
        self._doubt = None
        if self._heard_s <= self._pinged_s:
            self._fail(_silent())

    def _listen(self) -> None:
        """Every few seconds: does the peer still live?"""
        self._tick = self._clock.call_later(_TICK_S, self._listen)
        self._silent_ticks = self._silent_ticks + 1 if len(self._session) else 0
        if self._silent_ticks == _PING_AFTER_TICKS:
            self._ping()
        elif self._silent_ticks >= _LOST_AFTER_TICKS:
            self._fail(_silent())

    def _answer_pings(self) -> None:
        self._ping_answer = None
        self._session.answer_pings()
        self._flush()

    def _ping(self) -> None:
        self._pinged_s = self._clock.monotonic()
        self._session.ping()
        self._flush()

    def _close_if_idle(self) -> None:
        if self._session.ending and not len(self._session):
            self._fail(RpcFailed(Code.UNAVAILABLE, self._session.ending))

    def _fail(self, failure: RpcFailed) -> None:
        """Once or again: a connection that is over stays over."""
        for timer in (self._timer, self._tick, self._doubt, self._ping_answer):
            if timer is not None:
                timer.cancel()
        self._session.lost(failure)
        if not self.ready.done():
            self.ready.set_result(failure)
        if not self._transport.is_closing():
            self._flush()
            self._transport.abort()

    def __repr__(self) -> str:
        return f"<Connection {self._session!r}>"


def _silent() -> RpcFailed:
    return RpcFailed(Code.UNAVAILABLE, "the peer does not answer a ping")


class _Answer:
    """Of one call."""

    __slots__ = ("_answered", "_message", "backlog", "future", "is_ended", "stream")

    stream: Stream

    def __init__(self, loop: asyncio.AbstractEventLoop, answered: Answered) -> None:
        self.future: asyncio.Future[bytes] = loop.create_future()
        self.backlog = 0  # it is taken as it comes
        self.is_ended = False
        self._message: bytes | None = None
        self._answered = answered

    def received(self, message: bytes) -> None:
        self._message = message

    def ended(self, failure: RpcFailed | None) -> None:
        self.is_ended = True
        if failure is None and self._message is not None:
            self._answered.append((self.future, self._message))
        elif not self.future.done():  # else its caller has been cancelled, and is about to see it
            self.future.set_exception(
                failure or RpcFailed(Code.INTERNAL, "a status without an answer")
            )


class MessageStream:
    """Messages both ways. One reader; it may be cancelled and read again."""

    stream: Stream

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        # Bound: what the peer is granted, see ``session``.
        self._messages: deque[bytes] = deque()
        self.backlog = 0
        self._is_ended = False
        self._failure: RpcFailed | None = None
        self._reader: asyncio.Future[None] | None = None

    def send(self, message: bytes) -> None:
        """What is sent on a stream that is over is lost; its reader learns that it is."""
        if not self._is_ended:
            self._connection.send(self.stream, message)

    async def read(self) -> list[bytes]:
        """All messages that are here, at least one; none: the peer has ended the stream. Raises
        RpcFailed."""
        while not self._messages:
            if self._failure is not None:
                raise self._failure.again()
            if self._is_ended:
                return []
            self._reader = asyncio.get_running_loop().create_future()
            await self._reader
        messages = [*self._messages]
        self._messages.clear()
        self.backlog = 0
        self._connection.taken(self.stream)
        return messages

    def received(self, message: bytes) -> None:
        self._messages.append(message)
        self.backlog += len(message)
        self._wake()

    def ended(self, failure: RpcFailed | None) -> None:
        self._is_ended, self._failure = True, failure
        self._wake()

    def _wake(self) -> None:
        if self._reader is not None and not self._reader.done():
            self._reader.set_result(None)
