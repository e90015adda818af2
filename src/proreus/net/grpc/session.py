"""The client's side of one HTTP/2 connection, without a socket: bytes in, messages and bytes out.

``output`` is what its owner writes. Receivers are called while bytes are read: they keep what they
get and return. Invariant: ``ended`` is called once for every stream, unless it was cancelled.

Flow control: peers may send 8 MiB on a stream and 16 MiB on all of them before we answer. A stream
whose receiver keeps messages that nobody takes is granted no more from 4 MiB of them on; others
are not held up by it. What we send waits, in order, for the windows of the peer.

The owner says when pings are answered; from eight of them on they are at once.
"""

from __future__ import annotations

from collections import deque
from struct import Struct

from proreus.net.grpc.endings import failure_of, http_failure, reset_failure
from proreus.net.grpc.failures import Code, RpcFailed
from proreus.net.grpc.header_blocks import AnswerHead, AnswerHeads
from proreus.net.grpc.messages import MESSAGE_HEAD, PREFIX_BYTES, Assembly, prefixed
from proreus.net.grpc.peer_windows import PeerWindows
from proreus.net.grpc.stream import Receiver, Stream
from proreus.net.http2 import frames
from proreus.net.http2.frames import END_STREAM, HEAD_BYTES, ErrorCode, ProtocolBroken

STREAM_WINDOW = 8 * 1024 * 1024
CONNECTION_WINDOW = 16 * 1024 * 1024
BACKLOG_MAX = 4 * 1024 * 1024
PINGS_MAX = 8
_BLOCK_BYTES_MAX = 64 * 1024
_UNLIMITED = 2**31
_HEAD = Struct(">LBL")  # a frame's size and kind as one number, flags, stream
_MESSAGE_HEAD_BYTES, _KIND_AT = MESSAGE_HEAD.size, 3
_SIZE_AND_KIND_MAX = frames.FRAME_BYTES_MAX << 8 | 0xFF
# Of these a head that is its payload, as all heads of etcd are, has END_HEADERS alone.
_PLAIN_HEAD = frames.END_HEADERS | frames.PADDED | frames.WITH_PRIORITY

_SETTINGS = {
    frames.HEADER_TABLE_SIZE: 0,  # see header_blocks
    frames.ENABLE_PUSH: 0,
    frames.INITIAL_WINDOW_SIZE: STREAM_WINDOW,
    frames.MAX_HEADER_LIST_SIZE: _BLOCK_BYTES_MAX,
}


class Http2Session:
    """See the module."""

    def __init__(self) -> None:
        self.output: list[bytes] = [
            frames.PREFACE,
            frames.settings(*_SETTINGS.items()),
            frames.window_update(0, CONNECTION_WINDOW - frames.WINDOW_BYTES),
        ]
        self.is_ready = False  # the peer has said its settings
        self.ending = ""  # why no stream begins any more
        self._streams: dict[int, Stream] = {}
        self._waiting: deque[Stream] = deque()  # until the peer allows another one
        self._streams_max = _UNLIMITED
        self._next = 1
        self._windows = PeerWindows(self.output)
        self._heads = AnswerHeads()
        self.pings: list[bytes] = []  # of the peer, not answered yet
        self._unacked = 0
        self._rest = b""  # of a frame that is not whole
        self._begun_block: tuple[int, int, bytes] | None = None  # number, flags, what there is

    def __len__(self) -> int:
        """Streams that are open or wait."""
        return len(self._streams) + len(self._waiting)

    def begin(self, block: bytes, receiver: Receiver, message: bytes, *, ends: bool) -> Stream:
        """Open a stream with its first message; not after ``ending``."""
        stream = Stream(block, receiver, ends=ends)
        if len(self._streams) < self._streams_max:
            self._start(stream, message)
        else:
            stream.unsent = prefixed(message)
            self._waiting.append(stream)
        return stream

    def send(self, stream: Stream, message: bytes) -> None:
        """Another message."""
        stream.unsent += prefixed(message)
        if stream.number in self._streams:
            self._windows.send(stream)

    def cancel(self, stream: Stream) -> None:
        """Its receiver hears no more of it."""
        if not stream.number:
            if stream in self._waiting:
                self._waiting.remove(stream)
        elif stream.number in self._streams:
            self._close(stream)

    def taken(self, stream: Stream) -> None:
        """The receiver has handed on what it had."""
        if stream.number in self._streams:
            self._grant(stream)

    def ping(self) -> None:
        self.output.append(frames.frame(frames.PING, 0, 0, bytes(8)))

    def answer_pings(self) -> None:
        self.output += map(frames.ping_ack, self.pings)
        self.pings.clear()

    def lost(self, failure: RpcFailed) -> None:
        """The connection is over, and all that is on it."""
        self.ending = self.ending or failure.details
        streams = [*self._streams.values()]
        self._streams.clear()
        for stream in streams:
            stream.receiver.ended(failure.again())
        self._refuse_waiting(failure)

    def receive(self, data: bytes) -> None:
        """Raises ProtocolBroken: then the connection is to be closed."""
        if self._rest:
            data = self._rest + data
        at, end = 0, len(data)
        unpack, unpack_head, streams = MESSAGE_HEAD.unpack_from, _HEAD.unpack_from, self._streams
        heads = self._heads.known
        while (begins_at := at + _MESSAGE_HEAD_BYTES) <= end:
            if data[at + _KIND_AT]:  # no data
                size_and_kind, flags, number = unpack_head(data, at)
                ends_at = at + HEAD_BYTES + (size_and_kind >> 8)
                if (
                    ends_at <= end
                    and data[at + _KIND_AT] == frames.HEADERS
                    and flags & _PLAIN_HEAD == frames.END_HEADERS
                    and (head := heads.get(data[at + HEAD_BYTES : ends_at])) is not None
                    and (stream := streams.get(number)) is not None
                    and self._begun_block is None
                ):
                    # As those of calls that succeed, which are all alike.
                    if flags & END_STREAM or not head.begins_answer:
                        self._headed(stream, head, flags)
                else:
                    ends_at = self._frame(data, at)
            else:
                size_and_kind, flags, number, is_compressed, length = unpack(data, at)
                ends_at = begins_at + length
                if (
                    size_and_kind == length + PREFIX_BYTES << 8
                    and ends_at <= end
                    and not (flags or is_compressed)
                    and (stream := streams.get(number)) is not None
                    and stream.assembly is None
                    and self._begun_block is None
                    and size_and_kind <= _SIZE_AND_KIND_MAX
                ):
                    # As nearly all comes: a frame that is one message.
                    stream.receiver.received(data[begins_at:ends_at])
                    self._count(stream, length + PREFIX_BYTES)
                else:
                    ends_at = self._frame(data, at)
            if not ends_at:
                break
            at = ends_at
        while ends_at := self._frame(data, at):
            at = ends_at
        self._rest = data[at:]

    def _frame(self, data: bytes, at: int) -> int:
        """Take any frame that begins there, and say where it ends; 0: it is not whole."""
        begins_at = at + HEAD_BYTES
        if begins_at > len(data):
            return 0
        size_and_kind, flags, number = _HEAD.unpack_from(data, at)
        ends_at: int = begins_at + (size_and_kind >> 8)
        if size_and_kind > _SIZE_AND_KIND_MAX:
            raise ProtocolBroken(ErrorCode.PROTOCOL_ERROR, "a frame that is too large")
        if ends_at > len(data):
            return 0
        kind, number = size_and_kind & 0xFF, number & frames.NUMBER_MAX
        if self._begun_block is not None and kind != frames.CONTINUATION:
            raise ProtocolBroken(ErrorCode.PROTOCOL_ERROR, "a frame inside of a head")
        if kind != frames.HEADERS:
            self._take(kind, flags, number, data[begins_at:ends_at])
        elif flags & _PLAIN_HEAD == frames.END_HEADERS:
            self._head(flags, number, data[begins_at:ends_at])
        else:
            self._headers(flags, number, data[begins_at:ends_at])
        return ends_at

    def _take(self, kind: int, flags: int, number: int, payload: bytes) -> None:
        if kind == frames.DATA:
            self._data(flags, number, payload)
        elif kind == frames.WINDOW_UPDATE:
            self._window_update(number, payload)
        elif kind == frames.SETTINGS:
            self._settings(flags, number, payload)
        elif kind == frames.PING:
            self._ping(flags, number, payload)
        elif kind == frames.RST_STREAM:
            self._reset(number, payload)
        elif kind == frames.GOAWAY:
            self._go_away(number, payload)
        elif kind == frames.CONTINUATION:
            self._continuation(flags, number, payload)
        elif kind == frames.PUSH_PROMISE:
            raise ProtocolBroken(ErrorCode.PROTOCOL_ERROR, "a push, which was refused")
        # Others are to be ignored (RFC 9113, section 5.5).

    def _data(self, flags: int, number: int, payload: bytes) -> None:
        stream = self._found(number)
        if stream is None:  # cancelled; what it cost is acknowledged
            self._count(None, len(payload))
            return
        assembly = stream.assembly or Assembly()
        try:
            messages = assembly.add(frames.unpadded(payload, flags))
        except RpcFailed as failure:
            self._count(None, len(payload))
            self._close(stream)
            stream.receiver.ended(failure)
            return
        stream.assembly = None if assembly.is_between else assembly
        for message in messages:
            stream.receiver.received(message)
        self._count(stream, len(payload))
        if flags & END_STREAM:
            self._end(stream, RpcFailed(Code.INTERNAL, "the answer ended without a status"))

    def _count(self, stream: Stream | None, size: int) -> None:
        """So much data has come."""
        self._unacked += size
        if self._unacked >= CONNECTION_WINDOW // 2:
            self.output.append(frames.window_update(0, self._unacked))
            self._unacked = 0
        if stream is not None:
            stream.unacked += size
            if stream.unacked >= STREAM_WINDOW // 2:
                self._grant(stream)

    def _headers(self, flags: int, number: int, payload: bytes) -> None:
        """A head that has more in its frame, or more frames."""
        payload = frames.unpadded(payload, flags)
        if flags & frames.WITH_PRIORITY:
            payload = payload[5:]
        if flags & frames.END_HEADERS:
            self._head(flags, number, payload)
        else:
            self._begun_block = number, flags, payload

    def _continuation(self, flags: int, number: int, payload: bytes) -> None:
        if self._begun_block is None or self._begun_block[0] != number:
            raise ProtocolBroken(ErrorCode.PROTOCOL_ERROR, "the continuation of no head")
        _, first_flags, begun = self._begun_block
        begun += payload
        if len(begun) > _BLOCK_BYTES_MAX:
            raise ProtocolBroken(ErrorCode.PROTOCOL_ERROR, "a head that is too large")
        self._begun_block = number, first_flags, begun
        if flags & frames.END_HEADERS:
            self._begun_block = None
            self._head(first_flags, number, begun)

    def _head(self, flags: int, number: int, block: bytes) -> None:
        head = self._heads.read(block)  # of any stream: blocks may depend on each other
        stream = self._found(number)
        if stream is not None:
            self._headed(stream, head, flags)

    def _headed(self, stream: Stream, head: AnswerHead, flags: int) -> None:
        if flags & END_STREAM:
            is_success = head.is_success and stream.assembly is None
            self._end(stream, None if is_success else failure_of(head))
        elif not head.begins_answer:
            self._close(stream)
            stream.receiver.ended(http_failure(head))

    def _settings(self, flags: int, number: int, payload: bytes) -> None:
        if number or len(payload) % 6 or (flags & frames.ACK and payload):
            raise ProtocolBroken(ErrorCode.PROTOCOL_ERROR, "settings of a wrong form")
        if flags & frames.ACK:
            return
        for name, value in frames.read_settings(payload):
            if name == frames.INITIAL_WINDOW_SIZE:
                self._windows.change_initial(value, self._streams.values())
            elif name == frames.MAX_FRAME_SIZE:
                self._windows.change_frame_size(value)
            elif name == frames.MAX_CONCURRENT_STREAMS:
                self._streams_max = value
        self.output.append(frames.SETTINGS_ACK)
        self.is_ready = True
        self._start_waiting()

    def _window_update(self, number: int, payload: bytes) -> None:
        if len(payload) != 4:
            raise ProtocolBroken(ErrorCode.PROTOCOL_ERROR, "a window update of a wrong form")
        more = frames.read_number(payload)
        if not number:
            self._windows.grow(more)
        elif (stream := self._found(number)) is not None:
            self._windows.grow_one(stream, more)

    def _ping(self, flags: int, number: int, payload: bytes) -> None:
        if number or len(payload) != 8:
            raise ProtocolBroken(ErrorCode.PROTOCOL_ERROR, "a ping of a wrong form")
        if not flags & frames.ACK:
            self.pings.append(payload)
            if len(self.pings) >= PINGS_MAX:
                self.answer_pings()

    def _reset(self, number: int, payload: bytes) -> None:
        if len(payload) != 4:
            raise ProtocolBroken(ErrorCode.PROTOCOL_ERROR, "a reset of a wrong form")
        stream = self._found(number)
        if stream is not None:
            stream.ends, stream.unsent = True, b""  # there is nobody to tell
            self._end(stream, reset_failure(frames.read_number(payload)))

    def _go_away(self, number: int, payload: bytes) -> None:
        if number or len(payload) < 8:
            raise ProtocolBroken(ErrorCode.PROTOCOL_ERROR, "a farewell of a wrong form")
        last, code = frames.read_number(payload), frames.read_number(payload, 4)
        words = payload[8:200].decode("utf-8", "replace")
        self.ending = f"the peer ends the connection, code {code} {words}".rstrip()
        refused = RpcFailed(Code.UNAVAILABLE, self.ending, is_unsent=True)
        for stream in [stream for stream in self._streams.values() if stream.number > last]:
            stream.ends, stream.unsent = True, b""
            self._end(stream, refused.again())
        self._refuse_waiting(refused)

    def _found(self, number: int) -> Stream | None:
        stream = self._streams.get(number)
        if stream is None and (number >= self._next or not number & 1):
            raise ProtocolBroken(ErrorCode.PROTOCOL_ERROR, "a frame for a stream that never began")
        return stream

    def _start(self, stream: Stream, message: bytes | None = None) -> None:
        """``message`` None: what is unsent."""
        number, block = self._next, stream.block
        stream.number, self._next = number, number + 2
        if number + 2 > frames.NUMBER_MAX:
            self.ending = "all numbers of streams have been used"
        self._streams[number] = stream
        head = _HEAD.pack(len(block) << 8 | frames.HEADERS, frames.END_HEADERS, number)
        self.output += (head, block)
        self._windows.begin(stream, message)

    def _start_waiting(self) -> None:
        while self._waiting and len(self._streams) < self._streams_max and not self.ending:
            self._start(self._waiting.popleft())
        if self.ending:
            self._refuse_waiting(RpcFailed(Code.UNAVAILABLE, self.ending))

    def _refuse_waiting(self, why: RpcFailed) -> None:
        waiting, self._waiting = self._waiting, deque()
        for stream in waiting:
            stream.receiver.ended(RpcFailed(why.code, why.details, is_unsent=True))

    def _grant(self, stream: Stream) -> None:
        if stream.unacked > STREAM_WINDOW:
            raise ProtocolBroken(ErrorCode.PROTOCOL_ERROR, "more data than was granted")
        if stream.unacked >= STREAM_WINDOW // 2 and stream.receiver.backlog < BACKLOG_MAX:
            self.output.append(frames.window_update(stream.number, stream.unacked))
            stream.unacked = 0

    def _end(self, stream: Stream, failure: RpcFailed | None) -> None:
        """The peer is done with it; are we?"""
        if stream.unsent or not stream.ends or self._windows.blocked or self._waiting:
            self._close(stream, is_told=bool(stream.unsent) or not stream.ends)
        else:  # as nearly all end
            del self._streams[stream.number]
        stream.receiver.ended(failure)

    def _close(self, stream: Stream, *, is_told: bool = True) -> None:
        del self._streams[stream.number]
        if self._windows.blocked:
            self._windows.forget(stream)
        if is_told:
            self.output.append(frames.rst_stream(stream.number, ErrorCode.CANCEL))
        if self._waiting:
            self._start_waiting()

    def __repr__(self) -> str:
        state = self.ending or ("open" if self.is_ready else "not answered yet")
        return f"<Http2Session {state}, {len(self)} streams>"
