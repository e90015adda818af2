"""CBOR in and out, as Kubernetes reads and writes it (its ``application/cbor``, RFC 8949).

A document begins with the tag that says what it is. Text is written as byte strings, map keys in
order, as Kubernetes does; either kind of string is read. Bytes that are marked to be shown in
base64 become that text, as in JSON. Maps with a key twice are refused outright.

Invariant: a decoded value is plain JSON, no deeper than ``DEPTH_MAX``, and holds no more objects
and lists than ``amplification`` allows. Of tags nothing is made but what they enclose.
"""

from __future__ import annotations

import base64
import math
from collections.abc import Callable, Mapping
from typing import Any, Final

import cbor2

from proreus.api.wire.amplification import CONTAINERS_MAX, TooManyContainers

SELF_DESCRIBED = b"\xd9\xd9\xf7"
BEGIN_LIST, END_LIST = b"\x9f", b"\xff"  # of a list whose length is not known before its end
DEPTH_MAX = 64  # Kubernetes' own
_INT_MIN, _INT_MAX = -(2**63), 2**63 - 1
_BYTES, _TEXT, _ARRAY, _MAP = 2, 3, 4, 5
_INDEFINITE = 31
_END = b"\x43end"


class CborError(ValueError):
    """The bytes are no CBOR, or nothing that JSON can say."""


def encode(value: Any) -> bytes:
    """A document."""
    return SELF_DESCRIBED + encode_item(value)


def encode_item(value: Any) -> bytes:
    """A value within a document."""
    made: bytes = cbor2.dumps(_written(value), canonical=True)
    return made


def map_start(count: int) -> bytes:
    """What stands before ``count`` keys and values of a map, fewer than 24."""
    assert count < 24, "no list has so many fields"
    return bytes((_MAP << 5 | count,))


def _written(value: Any) -> Any:
    kind = type(value)
    if kind is str:
        return value.encode("utf-8", "surrogatepass")
    if kind is dict:
        return {key.encode("utf-8", "surrogatepass"): _written(of) for key, of in value.items()}
    if kind is list:
        return [_written(item) for item in value]
    return value


def decode(data: bytes) -> Any:
    """Raises CborError, TooManyContainers."""
    _check_containers(data)
    try:
        # The library would not say that more follows. As a list of two, what is second is ours.
        found, end = cbor2.loads(
            b"\x82" + data + _END,
            max_depth=DEPTH_MAX + 1,
            allow_duplicate_keys=False,
            strict_hashable_types=True,
            semantic_decoders=_SEMANTIC,
            tag_hook=_content,
        )
    except (cbor2.CBORError, ValueError, RecursionError) as error:
        raise CborError(f"cbor: {error}") from error
    if end != _END[1:]:
        raise CborError("cbor: there is more behind the document")
    return _read(found)


def _content(tag: cbor2.CBORTag, immutable: bool) -> Any:
    return tag.value


def _enclosed(content: Any, immutable: bool) -> Any:
    return content


def _refused(content: Any, immutable: bool) -> Any:
    raise CborError("cbor: a number is larger than JSON's")


def _as(encoding: Callable[[bytes], bytes]) -> Callable[[Any, bool], Any]:
    """Bytes that were marked to be shown as text."""

    def encoded(content: Any, immutable: bool) -> Any:
        return encoding(content) if isinstance(content, bytes) else content

    return encoded


# What the library would make of tags: dates, numbers without bound, patterns, references.
_LIBRARYS = (0, 1, 4, 5, 25, 28, 29, 30, 35, 36, 37, 52, 54, 100, 256, 258, 260, 261, 1004)
_SEMANTIC: Final = {
    **dict.fromkeys((*_LIBRARYS, 43000, 55799), _enclosed),
    **dict.fromkeys((2, 3), _refused),
    21: _as(base64.urlsafe_b64encode),
    22: _as(base64.b64encode),
    23: _as(lambda content: content.hex().upper().encode()),
}


def _read(value: Any) -> Any:
    """Raises CborError."""
    match value:
        case bytes():
            try:
                return value.decode()
            except UnicodeDecodeError as error:
                raise CborError("cbor: a string is no UTF-8") from error
        case Mapping():
            read = {_read(key): _read(of) for key, of in value.items()}
            if len(read) != len(value):
                raise CborError("cbor: a key is given twice, as text and as bytes")
            return read
        case list() | tuple():  # within a tag it is immutable
            return [_read(item) for item in value]
        case bool() | str() | None:
            return value
        case int() if _INT_MIN <= value <= _INT_MAX:
            return value
        case float() if math.isfinite(value):
            return value
        case _:
            raise CborError(f"cbor: a value of type {type(value).__name__} has no form in JSON")


def _check_containers(data: bytes) -> None:
    """Raises TooManyContainers. One takes a byte at least, so that few bytes need no count."""
    place, end, left = 0, len(data), CONTAINERS_MAX
    if end <= CONTAINERS_MAX:
        return
    while place < end:
        major, info = data[place] >> 5, data[place] & 31
        place += 1
        size = info
        if 24 <= info <= 27:
            width = 1 << (info - 24)
            size = int.from_bytes(data[place : place + width], "big")
            place += width
        if major in (_ARRAY, _MAP):
            left -= 1
            if left < 0:
                raise TooManyContainers
        elif major in (_BYTES, _TEXT) and info != _INDEFINITE:
            place += size
