"""Frames of HTTP/2 (RFC 9113): numbers, and how those that a client sends are built."""

from __future__ import annotations

from struct import Struct

DATA, HEADERS, PRIORITY, RST_STREAM, SETTINGS = 0, 1, 2, 3, 4
PUSH_PROMISE, PING, GOAWAY, WINDOW_UPDATE, CONTINUATION = 5, 6, 7, 8, 9

END_STREAM = ACK = 0x1
END_HEADERS = 0x4
PADDED = 0x8
HAS_PRIORITY = 0x20

HEADER_TABLE_SIZE, ENABLE_PUSH, MAX_CONCURRENT_STREAMS = 1, 2, 3
INITIAL_WINDOW_SIZE, MAX_FRAME_SIZE, MAX_HEADER_LIST_SIZE = 4, 5, 6

NO_ERROR, PROTOCOL_ERROR = 0, 1
REFUSED_STREAM, CANCEL, ENHANCE_YOUR_CALM = 0x7, 0x8, 0xB

PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
HEAD_BYTES = 9
FRAME_BYTES_MAX = 16_384  # what both sides must take; peers of gRPC send no larger ones
WINDOW_DEFAULT = 65_535
WINDOW_MAX = 2**31 - 1
NUMBER_MAX = 2**31 - 1

HEAD = Struct(">HBBBL")  # length in two parts, kind, flags, number of the stream
_SETTING = Struct(">HL")
_NUMBER = Struct(">L")


def head(length: int, kind: int, flags: int, number: int) -> bytes:
    return HEAD.pack(length >> 8, length & 0xFF, kind, flags, number)


def frame(kind: int, flags: int, number: int, payload: bytes) -> bytes:
    return head(len(payload), kind, flags, number) + payload


def settings(values: dict[int, int]) -> bytes:
    payload = b"".join(_SETTING.pack(name, value) for name, value in values.items())
    return frame(SETTINGS, 0, 0, payload)


def settings_in(payload: bytes) -> list[tuple[int, int]]:
    return list(_SETTING.iter_unpack(payload))


def window_update(number: int, more: int) -> bytes:
    return frame(WINDOW_UPDATE, 0, number, _NUMBER.pack(more))


def reset(number: int, code: int) -> bytes:
    return frame(RST_STREAM, 0, number, _NUMBER.pack(code))


def number_in(payload: bytes, at: int = 0) -> int:
    found: int = _NUMBER.unpack_from(payload, at)[0]
    return found
