"""A checksum per row: SQLite's pages carry none, so a flipped bit in a value would go unnoticed.

One integer holds two: 31 bits over everything but the value, compared when the index is rebuilt,
and 32 bits over the value, compared whenever it is read. Cost: about a microsecond per row.

Long values are summed up in pieces: zlib gives the interpreter's lock away for longer ones, and
taking it back beside a busy event loop costs up to 5 ms.
"""

from __future__ import annotations

from struct import pack
from zlib import crc32

_VALUE_BITS = 0xFFFFFFFF
_SPREAD = 2654435761  # odd, so that no two numbers below 2**32 start alike
_PIECE = 5 * 1024
_HEAD_BITS = 0x7FFFFFFF  # the whole must fit into SQLite's signed integer


def of_row(
    revision: int, key: str, replaced: int, expires: float | None, value: bytes | None
) -> int:
    head = of_head(revision, key, replaced, expires, value is None)
    return head << 32 | _sum(value or b"")


def of_head(
    revision: int, key: str, replaced: int, expires: float | None, is_deletion: bool
) -> int:
    """The numbers are where the sum over the key starts, so that each counts and none is text."""
    start = revision * _SPREAD + replaced * 3 + is_deletion
    if expires is not None:
        start += int.from_bytes(pack("<d", expires), "little") * _SPREAD
    return crc32(key.encode(errors="surrogatepass"), start & _VALUE_BITS) & _HEAD_BITS


def head_of(checksum: int) -> int:
    return checksum >> 32


def is_value(value: bytes, checksum: int) -> bool:
    """Whether the value is the one that was written."""
    return _sum(value) == checksum & _VALUE_BITS


def _sum(value: bytes) -> int:
    if len(value) <= _PIECE:
        return crc32(value)
    total, whole = 0, memoryview(value)
    for first in range(0, len(value), _PIECE):
        total = crc32(whole[first : first + _PIECE], total)
    return total
