"""SPDY/3.1 frames ⇄ bytes: what ``kubectl port-forward`` speaks inside its WebSocket. Pure.

Receives: bytes in any pieces.  Hands on: frames.  Each direction of a connection has one
``FrameReader`` and one ``FrameWriter``; header blocks share one compression for as long as the
connection lasts, so frames must be read, and leave, in the order they were made.

Only what Kubernetes' streams need is here. Windows are not kept: the other end, a library that
knows none, never opens them, so the transport below is what slows a sender down.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Iterator, Mapping
from typing import NamedTuple

from proreus.api.wire.spdy_dictionary import DICTIONARY
from proreus.lazy_dataclass import dataclass

_VERSION = 3
_CONTROL = 0x8000
_FIN = 0x01
_STREAM = 0x7FFF_FFFF
_HEAD = struct.Struct(">HHI")
_WORD = struct.Struct(">I")
_TWO_WORDS = struct.Struct(">II")
_SYN_STREAM, _SYN_REPLY, _RST_STREAM, _SETTINGS = 1, 2, 3, 4
_PING, _GOAWAY, _HEADERS, _WINDOW_UPDATE = 6, 7, 8, 9
_IGNORED = frozenset({_SETTINGS, _WINDOW_UPDATE})
_CONTROL_BYTES_MAX = 64 * 1024
_HEADER_BYTES_MAX = 64 * 1024
# A frame may carry 16 MiB. Longer data is handed on in pieces of this size, so that no stream needs
# the memory of a whole frame.
DATA_PIECE_BYTES = 64 * 1024

Headers = Mapping[str, str]


class SpdyError(Exception):
    """The other end breaks the protocol; the connection is of no more use."""


class SynStream(NamedTuple):
    """The other end opens a stream. ``is_last``: it will send nothing on it."""

    stream: int
    headers: Headers
    is_last: bool = False


class SynReply(NamedTuple):
    stream: int
    headers: Headers
    is_last: bool = False


class MoreHeaders(NamedTuple):
    stream: int
    headers: Headers
    is_last: bool = False


class Data(NamedTuple):
    stream: int
    payload: bytes
    is_last: bool = False


class Reset(NamedTuple):
    """The stream is over in both directions."""

    stream: int
    status: int


class Ping(NamedTuple):
    """Answered with the same number."""

    number: int


class GoAway(NamedTuple):
    last_stream: int
    status: int = 0


Frame = SynStream | SynReply | MoreHeaders | Data | Reset | Ping | GoAway

REFUSED = 3  # the stream was not begun


@dataclass(slots=True)
class FrameReader:
    """``feed`` it what arrives. After a SpdyError it must not be used again."""

    _rest: bytearray
    _inflate: zlib._Decompress

    def __init__(self) -> None:
        self._rest = bytearray()
        self._inflate = zlib.decompressobj(zdict=DICTIONARY)

    def feed(self, data: bytes) -> list[Frame]:
        """The frames that are complete now. Raises SpdyError."""
        self._rest += data
        return list(self._frames())

    def _frames(self) -> Iterator[Frame]:
        at, buffer = 0, self._rest
        try:
            while len(buffer) - at >= 8:
                first, second, third = _HEAD.unpack_from(buffer, at)
                flags, size = third >> 24, third & 0xFF_FFFF
                if first & _CONTROL and size > _CONTROL_BYTES_MAX:
                    raise SpdyError(f"a control frame of {size} bytes")
                is_cut = not first & _CONTROL and size > DATA_PIECE_BYTES
                whole, size = size, DATA_PIECE_BYTES if is_cut else size
                if len(buffer) - at - 8 < size:
                    return
                payload = bytes(memoryview(buffer)[at + 8 : at + 8 + size])
                if is_cut:  # what follows the piece is a frame again, with a head of its own
                    at += size
                    _HEAD.pack_into(buffer, at, first, second, flags << 24 | whole - size)
                    yield Data((first << 16 | second) & _STREAM, payload)
                    continue
                at += 8 + size
                if not first & _CONTROL:
                    yield Data((first << 16 | second) & _STREAM, payload, bool(flags & _FIN))
                    continue
                if first & ~_CONTROL != _VERSION:
                    raise SpdyError(f"version {first & ~_CONTROL} of SPDY")
                frame = self._control(second, flags, payload)
                if frame is not None:
                    yield frame
        finally:
            del buffer[:at]

    def _control(self, kind: int, flags: int, payload: bytes) -> Frame | None:
        if kind in _IGNORED:
            return None
        is_last = bool(flags & _FIN)
        try:
            match kind:
                case 1:
                    stream = _WORD.unpack_from(payload)[0] & _STREAM
                    return SynStream(stream, self._headers(payload, 10), is_last)
                case 2 | 8:
                    stream = _WORD.unpack_from(payload)[0] & _STREAM
                    made = SynReply if kind == _SYN_REPLY else MoreHeaders
                    return made(stream, self._headers(payload, 4), is_last)
                case 3:
                    stream, status = _TWO_WORDS.unpack(payload)
                    return Reset(stream & _STREAM, status)
                case 6:
                    return Ping(_WORD.unpack(payload)[0])
                case 7:
                    last, status = _TWO_WORDS.unpack(payload)
                    return GoAway(last & _STREAM, status)
        except struct.error as error:
            raise SpdyError(f"a frame of type {kind} with {len(payload)} bytes") from error
        return None  # a type of another version: to be ignored, says the specification

    def _headers(self, payload: bytes, start: int) -> Headers:
        if len(payload) < start:
            raise SpdyError(f"a header frame with {len(payload)} bytes")
        try:
            block = self._inflate.decompress(payload[start:], _HEADER_BYTES_MAX)
        except zlib.error as error:
            raise SpdyError("headers that cannot be decompressed") from error
        if self._inflate.unconsumed_tail or self._inflate.eof:
            raise SpdyError("headers without end")
        return _parse_headers(block)


class FrameWriter:
    """Frames as bytes; what has headers must be sent in the order it was made."""

    def __init__(self) -> None:
        self._deflate = zlib.compressobj(zdict=DICTIONARY)

    def encode(self, frame: Frame) -> bytes:
        match frame:
            case Data(stream, payload, is_last):
                size = len(payload) | (_FIN << 24 if is_last else 0)
                return _TWO_WORDS.pack(stream, size) + payload
            case SynStream(stream, headers, is_last):
                head = _TWO_WORDS.pack(stream, 0) + b"\0\0"
                return _control(_SYN_STREAM, head + self._block(headers), is_last)
            case SynReply(stream, headers, is_last):
                return _control(_SYN_REPLY, _WORD.pack(stream) + self._block(headers), is_last)
            case MoreHeaders(stream, headers, is_last):
                return _control(_HEADERS, _WORD.pack(stream) + self._block(headers), is_last)
            case Reset(stream, status):
                return _control(_RST_STREAM, _TWO_WORDS.pack(stream, status))
            case Ping(number):
                return _control(_PING, _WORD.pack(number))
            case GoAway(last, status):
                return _control(_GOAWAY, _TWO_WORDS.pack(last, status))

    def _block(self, headers: Headers) -> bytes:
        parts = [_WORD.pack(len(headers))]
        for name, value in headers.items():
            for text in (name.lower().encode(), value.encode()):
                parts += (_WORD.pack(len(text)), text)
        packed = self._deflate.compress(b"".join(parts))
        return packed + self._deflate.flush(zlib.Z_SYNC_FLUSH)


def _control(kind: int, payload: bytes, is_last: bool = False) -> bytes:
    flags = _FIN << 24 if is_last else 0
    return _HEAD.pack(_CONTROL | _VERSION, kind, flags | len(payload)) + payload


def _parse_headers(block: bytes) -> Headers:
    found: dict[str, str] = {}
    try:
        (count,) = _WORD.unpack_from(block)
        at = 4
        for _ in range(count):
            pair = []
            for _ in range(2):
                (size,) = _WORD.unpack_from(block, at)
                text = block[at + 4 : at + 4 + size]
                if len(text) < size:
                    raise SpdyError("headers that end too early")
                at += 4 + size
                pair.append(text.decode("utf-8", "replace"))
            found[pair[0].lower()] = pair[1]
    except struct.error as error:
        raise SpdyError("headers that end too early") from error
    return found
