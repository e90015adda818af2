"""Frames of HTTP/2 as bytes (RFC 9113, 4 and 6), of servers and of clients (``net/grpc``): their
numbers, and how ours are made."""

from __future__ import annotations

import struct
from enum import IntEnum

PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
FRAME_BYTES_MAX = 16 * 1024  # what everybody takes, and what we take
WINDOW_MAX = NUMBER_MAX = 2**31 - 1  # the first bit of a stream's number is reserved
WINDOW_BYTES = 65535  # of a connection, and of streams unless settings say otherwise

DATA, HEADERS, PRIORITY, RST_STREAM, SETTINGS = 0, 1, 2, 3, 4
PUSH_PROMISE, PING, GOAWAY, WINDOW_UPDATE, CONTINUATION = 5, 6, 7, 8, 9

END_STREAM = ACK = 0x1
END_HEADERS = 0x4
PADDED = 0x8
WITH_PRIORITY = 0x20

HEADER_TABLE_SIZE, ENABLE_PUSH, MAX_CONCURRENT_STREAMS = 1, 2, 3
INITIAL_WINDOW_SIZE, MAX_FRAME_SIZE, MAX_HEADER_LIST_SIZE = 4, 5, 6

# Length (in three bytes), type, flags, stream.
HEAD = struct.Struct(">HBBBL")
HEAD_BYTES = HEAD.size
_SETTING = struct.Struct(">HL")
_NUMBER = struct.Struct(">L")
_TWO_NUMBERS = struct.Struct(">LL")
_pack = HEAD.pack

Bytes = bytes | memoryview


class ErrorCode(IntEnum):
    """Why a stream or a connection ends (RFC 9113, 7)."""

    NO_ERROR = 0
    PROTOCOL_ERROR = 1
    INTERNAL_ERROR = 2
    FLOW_CONTROL_ERROR = 3
    STREAM_CLOSED = 5
    FRAME_SIZE_ERROR = 6
    REFUSED_STREAM = 7
    CANCEL = 8
    COMPRESSION_ERROR = 9
    ENHANCE_YOUR_CALM = 11


class ProtocolBroken(Exception):
    """The connection cannot go on; ``code`` says why."""

    def __init__(self, code: ErrorCode, why: str) -> None:
        super().__init__(why)
        self.code = code


def frame_head(kind: int, flags: int, stream: int, length: int) -> bytes:
    return _pack(length >> 8, length & 0xFF, kind, flags, stream)


def frame(kind: int, flags: int, stream: int, payload: bytes) -> bytes:
    return frame_head(kind, flags, stream, len(payload)) + payload


def headers(stream: int, block: bytes, *, ends: bool) -> bytes:
    """One frame, and others behind it if the block needs them."""
    flags = END_STREAM if ends else 0
    if len(block) <= FRAME_BYTES_MAX:
        return frame(HEADERS, flags | END_HEADERS, stream, block)
    pieces = [block[at : at + FRAME_BYTES_MAX] for at in range(0, len(block), FRAME_BYTES_MAX)]
    made = [frame_head(HEADERS, flags, stream, len(pieces[0])), pieces[0]]
    for piece in pieces[1:]:
        last = END_HEADERS if piece is pieces[-1] else 0
        made += (frame_head(CONTINUATION, last, stream, len(piece)), piece)
    return b"".join(made)


def data(stream: int, piece: Bytes, *, ends: bool) -> list[Bytes]:
    """Heads and what they carry in turn, which is not copied."""
    size, flags = len(piece), END_STREAM if ends else 0
    if size <= FRAME_BYTES_MAX:
        return [frame_head(DATA, flags, stream, size), piece]
    view, made = memoryview(piece), list[Bytes]()
    full = frame_head(DATA, 0, stream, FRAME_BYTES_MAX)
    for place in range(0, size - FRAME_BYTES_MAX, FRAME_BYTES_MAX):
        made += (full, view[place : place + FRAME_BYTES_MAX])
    rest = view[(size - 1) // FRAME_BYTES_MAX * FRAME_BYTES_MAX :]
    made += (frame_head(DATA, flags, stream, len(rest)), rest)
    return made


def rst_stream(stream: int, code: ErrorCode) -> bytes:
    return frame(RST_STREAM, 0, stream, _NUMBER.pack(code))


def settings(*pairs: tuple[int, int]) -> bytes:
    return frame(SETTINGS, 0, 0, b"".join(_SETTING.pack(*pair) for pair in pairs))


SETTINGS_ACK = frame_head(SETTINGS, ACK, 0, 0)


def read_settings(payload: bytes) -> list[tuple[int, int]]:
    return list(_SETTING.iter_unpack(payload))


def ping_ack(payload: bytes) -> bytes:
    return frame(PING, ACK, 0, payload)


def goaway(last: int, code: ErrorCode, why: str = "") -> bytes:
    return frame(GOAWAY, 0, 0, _TWO_NUMBERS.pack(last, code) + why.encode())


def window_update(stream: int, credit: int) -> bytes:
    return frame(WINDOW_UPDATE, 0, stream, _NUMBER.pack(credit))


def read_number(payload: bytes, at: int = 0) -> int:
    """Without its first bit, which is reserved."""
    number: int = _NUMBER.unpack_from(payload, at)[0]
    return number & NUMBER_MAX


def unpadded(payload: bytes, flags: int) -> bytes:
    """Raises ProtocolBroken."""
    if not flags & PADDED:
        return payload
    if not payload or payload[0] >= len(payload):
        raise ProtocolBroken(ErrorCode.PROTOCOL_ERROR, "a frame is all padding")
    return payload[1 : len(payload) - payload[0]]
