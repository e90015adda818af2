"""Protobuf's wire format: varints, tags, and fields one does not know.

Buffers are whole ``bytes``; positions index them. Reading past the end raises IndexError, which
the codec's entry turns into "unexpected EOF" once, instead of checking at every byte.
"""

from __future__ import annotations

from functools import cache

VARINT, FIXED64, BYTES, FIXED32 = 0, 1, 2, 5
_SIGN = 1 << 63
_WRAP = 1 << 64
_KEPT_LENGTHS = 512


class ProtobufError(ValueError):
    """Bytes that are no message of the kind, or an object that cannot be written as one."""


class Truncated(ProtobufError):
    def __init__(self) -> None:
        super().__init__("unexpected EOF")


def read_varint(buffer: bytes, at: int) -> tuple[int, int]:
    """An unsigned varint and the position behind it."""
    value = shift = 0
    while True:
        byte = buffer[at]
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, at
        shift += 7
        if shift >= 70:
            raise ProtobufError("proto: integer overflow")


def signed(value: int) -> int:
    """A varint as int64, which is how negative numbers of every size are written."""
    if value < _SIGN:
        return value
    value &= _WRAP - 1
    return value - _WRAP if value >= _SIGN else value


def write_varint(value: int) -> bytes:
    if 0 <= value < 0x80:
        return _SMALL[value]
    if value < 0:
        value += _WRAP
    parts = bytearray()
    while value >= 0x80:
        parts.append(value & 0x7F | 0x80)
        value >>= 7
    parts.append(value)
    return bytes(parts)


def write_tag(number: int, wire_type: int) -> bytes:
    return write_varint(number << 3 | wire_type)


class FieldHeads(dict[int, bytes]):
    """A tag and the length behind it, by the length; short ones are kept."""

    __slots__ = ("_tag",)

    def __init__(self, tag: bytes) -> None:
        self._tag = tag

    def __missing__(self, size: int) -> bytes:
        head = self._tag + write_varint(size)
        if size < _KEPT_LENGTHS:
            self[size] = head
        return head


@cache
def heads_of(number: int) -> FieldHeads:
    """Of a field with this number."""
    return FieldHeads(write_tag(number, BYTES))


def delimited(tag: bytes, body: bytes) -> bytes:
    return tag + write_varint(len(body)) + body


def skip(buffer: bytes, at: int, end: int, tag: int, message: str) -> int:
    """The position behind an unknown field."""
    if tag >> 3 == 0:
        raise ProtobufError(f"proto: {message}: illegal tag 0 (wire type {tag & 7})")
    match tag & 7:
        case 0:
            at = read_varint(buffer, at)[1]
        case 1:
            at += 8
        case 2:
            size, at = read_varint(buffer, at)
            at += size
        case 5:
            at += 4
        case 4:
            raise ProtobufError(f"proto: {message}: wiretype end group for non-group")
        case other:
            raise ProtobufError(f"proto: illegal wireType {other}")
    if at > end:
        raise Truncated
    return at


_SMALL = [bytes((value,)) for value in range(0x80)]
KEY, VALUE = heads_of(1), heads_of(2)  # of a map's entry
