"""HPACK (RFC 7541), the half of it that reads: a header block becomes fields.

Clients repeat their headers, so nearly all of a block are numbers of fields that came before. A
field is decoded and checked once, when it enters the table that both sides keep; a block is then a
few look-ups. ``hpack``'s own decoder makes every field anew, which costs four times as much as all
else there is to a request; of it come the static table and the Huffman code, and tests compare both
decoders on whatever can be sent. Cost: about 6 µs for a request of 9 fields.
"""

from __future__ import annotations

import re
from collections import deque
from functools import lru_cache
from typing import NamedTuple

from hpack import HPACKError
from hpack.huffman_table import decode_huffman
from hpack.table import HeaderTable

TABLE_BYTES = 4096  # the protocol's default: we never ask for another
_ENTRY_BYTES = 32  # what a field costs beside its text (RFC 7541, 4.1)
_SHORT = 256  # texts that are remembered
_NAME = re.compile(rb":?[a-z0-9!#$%&'*+.^_`|~-]+")
_VALUE = re.compile(rb"(?![ \t])[^\x00-\x08\x0a-\x1f\x7f]*(?<![ \t])")


class BadBlock(Exception):
    """The block cannot be decoded: both sides' tables differ from here on."""


class HeaderField(NamedTuple):
    """``is_good``: name and value are such that HTTP allows them (RFC 9113, 8.2.1)."""

    name: str
    value: str
    size: int
    is_good: bool


def field_of(name: bytes, value: bytes) -> HeaderField:
    is_good = _NAME.fullmatch(name) is not None and _VALUE.fullmatch(value) is not None
    return HeaderField(
        name.decode("utf-8", "surrogateescape"),
        value.decode("utf-8", "surrogateescape"),
        len(name) + len(value) + _ENTRY_BYTES,
        is_good,
    )


_STATIC = (field_of(b"", b""), *(field_of(*pair) for pair in HeaderTable.STATIC_TABLE))
_STATIC_COUNT = len(_STATIC)


class HpackDecoder:
    """Of one connection. A block whose fields are together larger than ``list_bytes_max`` is
    refused."""

    def __init__(self, list_bytes_max: int) -> None:
        self.changes = 0  # of the table; a block means the same again while it has not changed
        self._list_bytes_max = list_bytes_max
        self._table: deque[HeaderField] = deque()  # the newest first
        self._table_bytes = 0
        self._table_max = TABLE_BYTES

    def decode(self, block: bytes) -> list[HeaderField]:
        """Raises BadBlock."""
        try:
            return self._decoded(block)
        except IndexError as error:
            raise BadBlock("a header block ends in the middle") from error
        except HPACKError as error:
            raise BadBlock("a text is no Huffman code") from error

    def _decoded(self, block: bytes) -> list[HeaderField]:
        fields: list[HeaderField] = []
        place, end, left = 0, len(block), self._list_bytes_max
        while place < end:
            octet = block[place]
            if octet >= 0x80:
                number, place = _number(block, place, 0x7F)
                field = self._field(number)
            elif octet >= 0x40:
                field, place = self._literal(block, place, 0x3F)
                self._add(field)
            elif octet >= 0x20:
                if fields:
                    raise BadBlock("the table's size changes in the middle of a block")
                size, place = _number(block, place, 0x1F)
                self._resize(size)
                continue
            else:
                field, place = self._literal(block, place, 0x0F)
            left -= field.size
            if left < 0:
                raise BadBlock("the headers are too long")
            fields.append(field)
        return fields

    def _field(self, number: int) -> HeaderField:
        if 0 < number < _STATIC_COUNT:
            return _STATIC[number]
        number -= _STATIC_COUNT
        if not 0 <= number < len(self._table):
            raise BadBlock("there is no such field in the table")
        return self._table[number]

    def _literal(self, block: bytes, place: int, mask: int) -> tuple[HeaderField, int]:
        number, place = _number(block, place, mask)
        if number:
            name = self._field(number).name.encode("utf-8", "surrogateescape")
        else:
            name, place = _text(block, place)
        value, place = _text(block, place)
        return field_of(name, value), place

    def _add(self, field: HeaderField) -> None:
        self.changes += 1
        self._table.appendleft(field)
        self._table_bytes += field.size
        self._evict()

    def _resize(self, size: int) -> None:
        if size > TABLE_BYTES:
            raise BadBlock("the table is larger than we allow")
        self.changes += 1
        self._table_max = size
        self._evict()

    def _evict(self) -> None:
        """The oldest; all of them, if the newest is larger than the table (RFC 7541, 4.4)."""
        while self._table_bytes > self._table_max:
            self._table_bytes -= self._table.pop().size


def _number(block: bytes, place: int, mask: int) -> tuple[int, int]:
    """With where it ends. Raises BadBlock, IndexError."""
    number = block[place] & mask
    place += 1
    if number < mask:
        return number, place
    shift = 0
    while True:
        octet = block[place]
        place += 1
        number += (octet & 0x7F) << shift
        if octet < 0x80:
            return number, place
        shift += 7
        if shift > 28:
            raise BadBlock("a number is too large")


def _text(block: bytes, place: int) -> tuple[bytes, int]:
    """With where it ends. Raises BadBlock, IndexError, HPACKError."""
    is_huffman = block[place] >= 0x80
    size, place = _number(block, place, 0x7F)
    end = place + size
    if end > len(block):
        raise BadBlock("a text ends behind its block")
    text = block[place:end]
    if is_huffman:
        text = _short_text(text) if size <= _SHORT else decode_huffman(text)
    return text, end


@lru_cache(2048)
def _short_text(code: bytes) -> bytes:
    text: bytes = decode_huffman(code)
    return text
