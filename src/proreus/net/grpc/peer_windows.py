"""What a peer allows us to send: its windows, and the streams that wait for them, in order."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Protocol

from proreus.net.grpc.messages import MESSAGE_HEAD, PREFIX_BYTES, prefixed
from proreus.net.http2 import frames
from proreus.net.http2.frames import ErrorCode, ProtocolBroken


class Sending(Protocol):
    """A stream as it sends: ``unsent`` bytes, behind which it may end."""

    number: int
    unsent: bytes
    ends: bool
    window: int


class PeerWindows:
    """``output`` gets the frames."""

    def __init__(self, output: list[bytes]) -> None:
        self._output = output
        self._window = self._initial = frames.WINDOW_BYTES
        self._frame_bytes = frames.FRAME_BYTES_MAX
        self.blocked: dict[int, Sending] = {}  # by number: the first one has waited longest

    def begin(self, stream: Sending, message: bytes | None) -> None:
        """Send its first message, which is not copied; None: what is unsent."""
        stream.window = self._initial
        if message is None:
            self.send(stream)
            return
        length = len(message)
        size = length + PREFIX_BYTES
        if size > self._initial or size > self._window or size > self._frame_bytes:
            stream.unsent = prefixed(message)
            self.send(stream)
            return
        flags = frames.END_STREAM if stream.ends else 0
        head = MESSAGE_HEAD.pack(size << 8 | frames.DATA, flags, stream.number, 0, length)
        self._output += (head, message)
        self._window -= size
        stream.window -= size

    def send(self, stream: Sending) -> None:
        """As much as the windows allow; the rest is sent when they grow."""
        unsent, size = stream.unsent, len(stream.unsent)
        room = min(size, self._window, stream.window)
        at = 0
        while at < room:
            ends_at = min(room, at + self._frame_bytes)
            flags = frames.END_STREAM if stream.ends and ends_at == size else 0
            head = frames.frame_head(frames.DATA, flags, stream.number, ends_at - at)
            self._output += (head, unsent[at:ends_at])
            at = ends_at
        self._window -= at
        stream.window -= at
        stream.unsent = unsent[at:]
        if at < size:
            self.blocked[stream.number] = stream
        else:
            self.blocked.pop(stream.number, None)

    def forget(self, stream: Sending) -> None:
        self.blocked.pop(stream.number, None)

    def grow(self, more: int) -> None:
        """The window of all streams together."""
        self._window = _sum(self._window, more)
        for stream in [*self.blocked.values()]:
            if self._window <= 0:
                break
            self.send(stream)

    def grow_one(self, stream: Sending, more: int) -> None:
        stream.window = _sum(stream.window, more)
        if stream.number in self.blocked:
            self.send(stream)

    def change_initial(self, size: int, streams: Iterable[Sending]) -> None:
        """It counts for streams that are open, too, and may leave them with less than nothing."""
        if size > frames.WINDOW_MAX:
            raise ProtocolBroken(ErrorCode.PROTOCOL_ERROR, "a window that is too large")
        for stream in streams:
            stream.window += size - self._initial
        self._initial = size
        for stream in [*self.blocked.values()]:
            self.send(stream)

    def change_frame_size(self, size: int) -> None:
        if not frames.FRAME_BYTES_MAX <= size < 2**24:
            raise ProtocolBroken(ErrorCode.PROTOCOL_ERROR, "a frame size outside of its bounds")
        self._frame_bytes = size


def _sum(window: int, more: int) -> int:
    if not more or window + more > frames.WINDOW_MAX:
        raise ProtocolBroken(ErrorCode.PROTOCOL_ERROR, "a window update outside of its bounds")
    return window + more
