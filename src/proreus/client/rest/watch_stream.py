"""One watch, from open to end: frames in, WatchEvents out. No resuming; that is the reflector's.

Receives: chunks, from ``net.http_client``.  Hands on: ADDED, MODIFIED, DELETED and BOOKMARK, to
``reflector.reflector`` or a user. ERROR is never handed on: it raises the ``ApiError`` it carries.

How it ends: the iterator stops when the server closed the stream properly; ``ConnectionLost`` when
the connection broke; ``StreamSilent`` when nothing came for longer than bookmarks make possible
(docs/guarantees.md, "alive or loud"); ``ApiError`` when the server or the decoding says so.
Cost: about 6 µs per event of 3.7 kB; a slow consumer slows the socket, nothing piles up here.
"""

from __future__ import annotations

import contextlib
from collections import deque
from collections.abc import AsyncIterator
from typing import TYPE_CHECKING

from proreus.aio.clock import Clock, deadline
from proreus.api.object import ObjectDecodeError
from proreus.api.status import ApiError, InternalError
from proreus.api.wire import framing
from proreus.api.wire.framing import FrameTooLong, LineSplitter, WatchEvent, decode_event
from proreus.client.rest.client import RestClient
from proreus.client.rest.failure import status_in
from proreus.client.rest.request import RestRequest
from proreus.client.rest.retry import Mode, is_retryable
from proreus.net.client.transport_error import StreamSilent, TransportError

if TYPE_CHECKING:
    from proreus.net.client.transport import AnswerStream

# A server ends the watch at its timeout; one that has not by then is not there.
_END_LATE_S = 10.0
_LINE_MAX = 64 * 1024 * 1024


class WatchStream:
    """The events of one open watch, as an async iterator."""

    def __init__(
        self,
        stream: AnswerStream,
        url: str,
        clock: Clock,
        *,
        silence_max_s: float | None,
        ends_in_s: float | None,
    ) -> None:
        self._stream = stream
        self._url = url
        self._clock = clock
        self._silence_max_s = silence_max_s
        self._ends_at = None if ends_in_s is None else clock.monotonic() + ends_in_s
        self._splitter = LineSplitter(_LINE_MAX)
        self._lines: deque[bytes] = deque()
        self._is_over = False

    def __aiter__(self) -> WatchStream:
        return self

    async def __anext__(self) -> WatchEvent:
        while not self._lines:
            if self._is_over:
                raise StopAsyncIteration
            await self._receive()
        event = self._decode(self._lines.popleft())
        if event.type == framing.ERROR:
            self._end()
            raise ApiError.from_status(event.object.to_dict())
        return event

    async def _receive(self) -> None:
        limit_s = self._patience_s()
        try:
            async with deadline(self._clock, limit_s):
                chunk = await self._stream.next_chunk()
        except TimeoutError as silent:
            self._end()
            raise StreamSilent(self._url, f"the watch was silent for {limit_s:.0f} s") from silent
        except TransportError:
            self._end()
            raise
        if chunk:
            try:
                self._lines.extend(self._splitter.feed(chunk))
            except FrameTooLong as problem:
                raise self._undecodable(str(problem)) from problem
        else:
            self._is_over = True
            rest = self._splitter.finish().strip()
            # Half a line is what a proxy leaves when it cuts; only a whole one is an event.
            if rest.endswith(b"}") and (_is_event(rest) or status_in(rest) is not None):
                self._lines.append(rest)

    def _patience_s(self) -> float | None:
        if self._ends_at is None:
            return self._silence_max_s
        left_s = max(0.0, self._ends_at - self._clock.monotonic())
        return left_s if self._silence_max_s is None else min(left_s, self._silence_max_s)

    def _decode(self, line: bytes) -> WatchEvent:
        try:
            return decode_event(line)
        except ObjectDecodeError as problem:
            self._end()
            # Some servers answer an expired watch with a bare Status instead of an event.
            said = status_in(line)
            if said is not None:
                raise ApiError.from_status(said) from problem
            raise self._undecodable(str(problem)) from problem

    def _undecodable(self, why: str) -> InternalError:
        self._end()
        causes = [
            {"reason": "UnexpectedServerResponse", "message": why},
            {"reason": "ClientWatchDecoding", "message": f"unable to decode an event: {why}"},
        ]
        return InternalError(f"unable to decode an event: {why}", details={"causes": causes})

    def _end(self) -> None:
        self._is_over = True
        self._lines.clear()


@contextlib.asynccontextmanager
async def open_watch(
    rest: RestClient,
    request: RestRequest,
    *,
    timeout_s: int = 0,
    silence_max_s: float | None = None,
) -> AsyncIterator[AsyncIterator[WatchEvent]]:
    """Open a watch; leaving the ``async with`` closes it.

    ``timeout_s`` is when the server will end it (0: when it likes); ``silence_max_s`` None leaves
    it to the reader how long it may be silent. If it cannot be opened because connections keep
    breaking, it is handed out already ended, like a watch that the server closed at once.
    """
    async with contextlib.AsyncExitStack() as opened:
        try:
            stream = await opened.enter_async_context(rest.open_stream(request, Mode.WATCH))
        except TransportError as error:
            if not is_retryable(error, method=request.method, mode=Mode.WATCH):
                raise
            yield _nothing()
            return
        yield WatchStream(
            stream,
            rest.config.host + request.path,
            rest.clock,
            silence_max_s=silence_max_s,
            ends_in_s=timeout_s + _END_LATE_S if timeout_s else None,
        )


async def _nothing() -> AsyncIterator[WatchEvent]:
    return
    yield


def _is_event(line: bytes) -> bool:
    try:
        decode_event(line)
    except ObjectDecodeError:
        return False
    return True
