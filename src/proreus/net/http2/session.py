"""The protocol of one connection, without I/O: bytes in, events out, and what must be answered.

Streams are kept from their request's head until both sides have ended them, or one has reset them.
A frame that breaks a rule of its stream resets the stream; one that breaks a rule of the connection
ends that (``ProtocolBroken``). Frames for streams that are over are dropped: they may have been on
their way.

Invariant: the client's windows are never exceeded, and it is never given more of ours than
``BODY_BYTES`` of a body that nobody has read. ``replies`` has what must be sent for what was
received; the owner sends and clears it after each ``receive``.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from proreus.net.http1.request_head import HEAD_BYTES_MAX, BadHead
from proreus.net.http2 import frames
from proreus.net.http2.events import (
    BODY_BYTES,
    BodyReceived,
    Event,
    RequestBegun,
    StreamFlow,
    StreamReset,
    WindowGrown,
)
from proreus.net.http2.floods import FloodGuard
from proreus.net.http2.frames import Bytes, ErrorCode, ProtocolBroken
from proreus.net.http2.header_blocks import HeadReader
from proreus.net.http2.hpack_decoder import BadBlock

_CONTINUATIONS_MAX = 16

_SETTING_MAX = {
    frames.ENABLE_PUSH: (0, 1, ErrorCode.PROTOCOL_ERROR),
    frames.INITIAL_WINDOW_SIZE: (0, frames.WINDOW_MAX, ErrorCode.FLOW_CONTROL_ERROR),
    frames.MAX_FRAME_SIZE: (frames.FRAME_BYTES_MAX, 2**24 - 1, ErrorCode.PROTOCOL_ERROR),
}


class _Block(NamedTuple):
    """A header block whose end has not come yet."""

    stream: int
    flags: int
    pieces: list[bytes]


class ServerSession:
    """``now``: a monotonic clock."""

    def __init__(self, streams_max: int, now: Callable[[], float]) -> None:
        self.guard = FloodGuard(now)
        self.streams: dict[int, StreamFlow] = {}
        self.outgoing = frames.WINDOW_BYTES  # bytes that the client takes on all streams
        self.last = 0  # the newest stream that was begun
        self.is_ending = False  # no further streams
        self._streams_max = streams_max
        self._connection_bytes = BODY_BYTES * streams_max
        self._incoming = self._connection_bytes
        self._consumed = 0
        self._initial = frames.WINDOW_BYTES  # of a new stream's window, as the client says
        self._heads = HeadReader()
        self._block: _Block | None = None
        self._unread = b""
        self._has_preface = self._has_settings = False
        self.replies: list[bytes] = [
            frames.settings(
                (frames.MAX_CONCURRENT_STREAMS, streams_max),
                (frames.INITIAL_WINDOW_SIZE, BODY_BYTES),
                (frames.MAX_HEADER_LIST_SIZE, HEAD_BYTES_MAX),
            ),
            frames.window_update(0, max(1, self._connection_bytes - frames.WINDOW_BYTES)),
        ]
        self._take = {
            frames.DATA: self._data,
            frames.HEADERS: self._headers,
            frames.PRIORITY: self._priority,
            frames.RST_STREAM: self._rst_stream,
            frames.SETTINGS: self._settings,
            frames.PUSH_PROMISE: self._push_promise,
            frames.PING: self._ping,
            frames.GOAWAY: self._goaway,
            frames.WINDOW_UPDATE: self._window_update,
            frames.CONTINUATION: self._continuation,
        }

    # Receiving

    def receive(self, data: bytes) -> list[Event]:
        """Raises ProtocolBroken; what came before is lost with the connection."""
        if self._unread:
            data = self._unread + data
        place, end, events = 0, len(data), list[Event]()
        if not self._has_preface:
            begun = data[: len(frames.PREFACE)]
            if not frames.PREFACE.startswith(begun):
                raise ProtocolBroken(ErrorCode.PROTOCOL_ERROR, "this is no HTTP/2")
            if len(begun) < len(frames.PREFACE):
                self._unread = data
                return events
            self._has_preface, place = True, len(begun)
        while end - place >= frames.HEAD_BYTES:
            high, low, kind, flags, number = frames.HEAD.unpack_from(data, place)
            length = high << 8 | low
            if length > frames.FRAME_BYTES_MAX:
                raise ProtocolBroken(ErrorCode.FRAME_SIZE_ERROR, "a frame is too long")
            begin = place + frames.HEAD_BYTES
            if end - begin < length:
                break
            place = begin + length
            self._frame(kind, flags, number & frames.NUMBER_MAX, data[begin:place], events)
        self._unread = data[place:]
        return events

    def _frame(
        self, kind: int, flags: int, number: int, payload: bytes, events: list[Event]
    ) -> None:
        if self._block is not None and (
            kind != frames.CONTINUATION or number != self._block.stream
        ):
            raise ProtocolBroken(ErrorCode.PROTOCOL_ERROR, "a header block was not continued")
        if not self._has_settings and kind != frames.SETTINGS:
            raise ProtocolBroken(ErrorCode.PROTOCOL_ERROR, "settings come first")
        take = self._take.get(kind)
        if take is not None:
            take(flags, number, payload, events)
        else:
            self._count_control()  # frames of unknown types are ignored (RFC 9113, 5.5)

    def _count_control(self) -> None:
        if not self.guard.control():
            raise ProtocolBroken(ErrorCode.ENHANCE_YOUR_CALM, "too many frames that carry nothing")

    def _count_reset(self) -> None:
        if not self.guard.reset():
            raise ProtocolBroken(ErrorCode.ENHANCE_YOUR_CALM, "too many requests were taken back")

    # Requests

    def _headers(self, flags: int, number: int, payload: bytes, events: list[Event]) -> None:
        if not number & 1:
            raise ProtocolBroken(ErrorCode.PROTOCOL_ERROR, "clients begin streams of odd numbers")
        block = frames.unpadded(payload, flags)
        if flags & frames.WITH_PRIORITY:
            if len(block) < 5:
                raise ProtocolBroken(ErrorCode.FRAME_SIZE_ERROR, "a priority is too short")
            block = block[5:]
        if flags & frames.END_HEADERS:
            self._head(flags, number, block, events)
        else:
            self._block = _Block(number, flags, [block])

    def _continuation(self, flags: int, number: int, payload: bytes, events: list[Event]) -> None:
        block = self._block
        if block is None:
            raise ProtocolBroken(ErrorCode.PROTOCOL_ERROR, "there is nothing to continue")
        block.pieces.append(payload)
        if len(block.pieces) > _CONTINUATIONS_MAX or sum(map(len, block.pieces)) > HEAD_BYTES_MAX:
            raise ProtocolBroken(ErrorCode.ENHANCE_YOUR_CALM, "a header block is too long")
        if flags & frames.END_HEADERS:
            self._block = None
            self._head(block.flags, number, b"".join(block.pieces), events)

    def _head(self, flags: int, number: int, block: bytes, events: list[Event]) -> None:
        is_last = bool(flags & frames.END_STREAM)
        try:
            if number <= self.last:
                self._trailers(number, block, events, is_last=is_last)
                return
            self.last = number if not self.is_ending else self.last
            if self.is_ending or len(self.streams) >= self._streams_max:
                self._heads.skip(block)
                self._refuse(number)
                return
            head = self._heads.read(block)
            length = head.headers.get("Content-Length")
            if is_last and length not in (None, "0"):
                raise BadHead("the body that was announced is missing")
        except BadBlock as error:
            raise ProtocolBroken(ErrorCode.COMPRESSION_ERROR, str(error)) from error
        except BadHead:
            self._count_reset()
            self.replies.append(frames.rst_stream(number, ErrorCode.PROTOCOL_ERROR))
            return
        flow = StreamFlow(number, self._initial, None if length is None else int(length))
        flow.has_request = is_last
        self.streams[number] = flow
        events.append(RequestBegun(flow, head, not is_last))

    def _refuse(self, number: int) -> None:
        """A stream too many, which its client may send again elsewhere; one behind our GOAWAY it
        knows of."""
        self._count_reset()
        if not self.is_ending:
            self.replies.append(frames.rst_stream(number, ErrorCode.REFUSED_STREAM))

    def _trailers(self, number: int, block: bytes, events: list[Event], *, is_last: bool) -> None:
        """Raises BadBlock."""
        flow = self.streams.get(number)
        if flow is None:
            self._heads.skip(block)
            self._count_control()
            return
        try:
            self._heads.read_trailers(block)
        except BadHead:
            is_last = False
        if flow.has_request or not is_last or flow.missing:
            self._break(flow, ErrorCode.PROTOCOL_ERROR, events)
            return
        flow.has_request = True
        events.append(BodyReceived(flow, b"", is_last=True))

    def _data(self, flags: int, number: int, payload: bytes, events: list[Event]) -> None:
        self._check_begun(number)
        size = len(payload)
        self._incoming -= size
        if self._incoming < 0:
            raise ProtocolBroken(ErrorCode.FLOW_CONTROL_ERROR, "more came than was allowed")
        data = frames.unpadded(payload, flags)
        is_last = bool(flags & frames.END_STREAM)
        flow = self.streams.get(number)
        if flow is None:  # it is over, and some was on its way
            self._count_control()
            self._give_back(size)
            return
        if not data and not is_last:
            self._count_control()
        flow.incoming -= size
        if flow.missing is not None:
            flow.missing -= len(data)
        fault = None
        if flow.has_request:
            fault = ErrorCode.STREAM_CLOSED
        elif flow.incoming < 0:
            fault = ErrorCode.FLOW_CONTROL_ERROR
        elif flow.missing is not None and (flow.missing < 0 or (is_last and flow.missing)):
            fault = ErrorCode.PROTOCOL_ERROR
        if fault is not None:
            self._give_back(size)
            self._break(flow, fault, events)
            return
        flow.has_request = is_last
        self._give_back(size - len(data), flow)
        events.append(BodyReceived(flow, data, is_last))

    def _rst_stream(self, flags: int, number: int, payload: bytes, events: list[Event]) -> None:
        if len(payload) != 4:
            raise ProtocolBroken(ErrorCode.FRAME_SIZE_ERROR, "a reset has four bytes")
        self._check_begun(number)
        self._count_reset()
        flow = self.streams.pop(number, None)
        if flow is not None:
            events.append(StreamReset(flow))

    def _break(self, flow: StreamFlow, code: ErrorCode, events: list[Event]) -> None:
        self._count_reset()
        self.reset(flow, code)
        events.append(StreamReset(flow))

    def _check_begun(self, number: int) -> None:
        if not number or not number & 1 or (number > self.last and not self.is_ending):
            raise ProtocolBroken(ErrorCode.PROTOCOL_ERROR, "a frame belongs to no stream")

    # The connection

    def _window_update(self, flags: int, number: int, payload: bytes, events: list[Event]) -> None:
        if len(payload) != 4:
            raise ProtocolBroken(ErrorCode.FRAME_SIZE_ERROR, "a window has four bytes")
        self._count_control()
        credit = frames.read_number(payload)
        if not number:
            self.outgoing += credit
            if not credit or self.outgoing > frames.WINDOW_MAX:
                raise ProtocolBroken(ErrorCode.FLOW_CONTROL_ERROR, "a window is malformed")
            events.append(WindowGrown(None))
            return
        self._check_begun(number)
        flow = self.streams.get(number)
        if flow is None:
            return
        flow.outgoing += credit
        if not credit or flow.outgoing > frames.WINDOW_MAX:
            self._break(flow, ErrorCode.FLOW_CONTROL_ERROR, events)
        else:
            events.append(WindowGrown(flow))

    def _settings(self, flags: int, number: int, payload: bytes, events: list[Event]) -> None:
        if number or (not self._has_settings and flags & frames.ACK):
            raise ProtocolBroken(ErrorCode.PROTOCOL_ERROR, "settings are the connection's")
        if len(payload) % 6 or (flags & frames.ACK and payload):
            raise ProtocolBroken(ErrorCode.FRAME_SIZE_ERROR, "settings are malformed")
        self._count_control()
        self._has_settings = True
        if flags & frames.ACK:
            return
        for name, value in frames.read_settings(payload):
            least, most, code = _SETTING_MAX.get(name, (0, 2**32, ErrorCode.PROTOCOL_ERROR))
            if not least <= value <= most:
                raise ProtocolBroken(code, "a setting is out of bounds")
            if name == frames.INITIAL_WINDOW_SIZE:
                self._resize_windows(value - self._initial)
                self._initial = value
                events.append(WindowGrown(None))
        self.replies.append(frames.SETTINGS_ACK)

    def _resize_windows(self, difference: int) -> None:
        for flow in self.streams.values():
            flow.outgoing += difference  # less than nothing, perhaps (RFC 9113, 6.9.2)
            if flow.outgoing > frames.WINDOW_MAX:
                raise ProtocolBroken(ErrorCode.FLOW_CONTROL_ERROR, "a window is too large")

    def _ping(self, flags: int, number: int, payload: bytes, events: list[Event]) -> None:
        if number:
            raise ProtocolBroken(ErrorCode.PROTOCOL_ERROR, "a ping is the connection's")
        if len(payload) != 8:
            raise ProtocolBroken(ErrorCode.FRAME_SIZE_ERROR, "a ping has eight bytes")
        self._count_control()
        if not flags & frames.ACK:
            self.replies.append(frames.ping_ack(payload))

    def _priority(self, flags: int, number: int, payload: bytes, events: list[Event]) -> None:
        """Deprecated and ignored (RFC 9113, 5.3.2)."""
        if len(payload) != 5 or not number:
            raise ProtocolBroken(ErrorCode.PROTOCOL_ERROR, "a priority is malformed")
        self._count_control()

    def _push_promise(self, flags: int, number: int, payload: bytes, events: list[Event]) -> None:
        raise ProtocolBroken(ErrorCode.PROTOCOL_ERROR, "clients promise nothing")

    def _goaway(self, flags: int, number: int, payload: bytes, events: list[Event]) -> None:
        """The client begins no further streams; those that it has go on."""
        if number or len(payload) < 8:
            raise ProtocolBroken(ErrorCode.PROTOCOL_ERROR, "a farewell is malformed")
        self._count_control()

    # Sending

    def room(self, flow: StreamFlow) -> int:
        """Bytes that may be sent on a stream; none or less: its client takes none."""
        return min(self.outgoing, flow.outgoing)

    def data(self, flow: StreamFlow, piece: Bytes, *, ends: bool) -> list[Bytes]:
        """Bytes, for which there is ``room``, as frames; what they carry is not copied."""
        size = len(piece)
        self.outgoing -= size
        flow.outgoing -= size
        made = frames.data(flow.number, piece, ends=ends)
        self.guard.sent(len(made) // 2)
        return made

    def credit(self, flow: StreamFlow, size: int) -> None:
        """So many bytes of a body were read: as many more may come."""
        self._give_back(size, flow)

    def _give_back(self, size: int, flow: StreamFlow | None = None) -> None:
        """In few frames: when half of a window was used."""
        self._consumed += size
        if self._consumed >= BODY_BYTES // 2:
            self._incoming += self._consumed
            self.replies.append(frames.window_update(0, self._consumed))
            self._consumed = 0
        if flow is None or flow.has_request:
            return
        flow.consumed += size
        if flow.consumed >= BODY_BYTES // 2 and flow.number in self.streams:
            flow.incoming += flow.consumed
            self.replies.append(frames.window_update(flow.number, flow.consumed))
            flow.consumed = 0

    def ended(self, flow: StreamFlow) -> None:
        """Our side was ended. A client that still sends need not (RFC 9113, 8.1)."""
        if self.streams.pop(flow.number, None) is not None and not flow.has_request:
            self.replies.append(frames.rst_stream(flow.number, ErrorCode.NO_ERROR))

    def reset(self, flow: StreamFlow, code: ErrorCode) -> None:
        if self.streams.pop(flow.number, None) is not None:
            self.replies.append(frames.rst_stream(flow.number, code))

    def go_away(self, code: ErrorCode = ErrorCode.NO_ERROR, why: str = "") -> None:
        """No further streams; those up to ``last`` go on."""
        if not self.is_ending or code is not ErrorCode.NO_ERROR:
            self.is_ending = True
            self.replies.append(frames.goaway(self.last, code, why))

    def __repr__(self) -> str:
        return f"<ServerSession: {len(self.streams)} streams, {self.outgoing} B out>"
