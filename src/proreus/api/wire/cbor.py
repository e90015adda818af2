"""CBOR as Kubernetes writes it (its ``application/cbor``, RFC 8949).

A document begins with the tag that says what it is. Text is written as byte strings, and map keys
in order: that of their bytes, the shorter first.

Cost: about 60 µs for a pod of 3.7 kB. Objects of a kind have the same few sets of keys, so their
order and bytes are kept.
"""

from __future__ import annotations

from typing import Any

import cbor2

from proreus.api.wire.stored_cbor import SELF_DESCRIBED as SELF_DESCRIBED
from proreus.lazy_dataclass import dataclass

BEGIN_LIST, END_LIST = b"\x9f", b"\xff"  # of a list whose length is not known before its end
_BYTES, _LIST, _MAP = 2, 4, 5
_SHORT = 256
_SHAPES_MAX = 2048
_SHAPE_TEXT_MAX = 512  # characters of all keys of a map whose order is kept


@dataclass(frozen=True, slots=True)
class _Shape:
    """How maps with the same keys are written. ``keys``: in order, as written and as found."""

    head: bytes
    keys: tuple[tuple[bytes, str], ...]


def encode(value: Any) -> bytes:
    """A document."""
    return SELF_DESCRIBED + encode_item(value)


def encode_item(value: Any) -> bytes:
    """A value within a document."""
    parts: list[bytes] = []
    _write(value, parts)
    return b"".join(parts)


def map_start(count: int) -> bytes:
    """What stands before ``count`` keys and values of a map."""
    return _head(_MAP, count)


def with_first(pairs: bytes, count: int, written: bytes) -> bytes:
    """A map that was written before, with ``count`` keys and values in front of its own."""
    size, at = written[0] & 0x1F, 1
    if size >= 24:
        at += 1 << size - 24
        size = int.from_bytes(written[1:at], "big")
    return b"".join((_head(_MAP, size + count), pairs, written[at:]))


def _write(value: Any, parts: list[bytes]) -> None:
    kind = type(value)
    if kind is str:
        body = value.encode("utf-8", "surrogatepass")
        size = len(body)
        parts.append(_BYTE_HEADS[size] if size < _SHORT else _head(_BYTES, size))
        parts.append(body)
    elif kind is dict:
        _write_map(value, parts)
    elif kind is list:
        parts.append(_head(_LIST, len(value)))
        for item in value:
            _write(item, parts)
    elif kind is bool or value is None:
        parts.append(_CONSTANTS[value])
    else:
        parts.append(cbor2.dumps(value, canonical=True))


def _write_map(value: dict[str, Any], parts: list[bytes]) -> None:
    """Most values are short text, or the empty maps of managed fields: written without a call."""
    keys = tuple(value)
    shape = _SHAPES.get(keys) or _shape(keys)
    parts.append(shape.head)
    for written, key in shape.keys:
        parts.append(written)
        child = value[key]
        kind = type(child)
        if kind is str:
            body = child.encode("utf-8", "surrogatepass")
            size = len(body)
            parts.append(_BYTE_HEADS[size] if size < _SHORT else _head(_BYTES, size))
            parts.append(body)
        elif kind is not dict:
            _write(child, parts)
        elif child:
            _write_map(child, parts)
        else:
            parts.append(_NO_KEYS)


def _shape(keys: tuple[str, ...]) -> _Shape:
    ordered = tuple(sorted((_text(key), key) for key in keys))
    found = _Shape(_head(_MAP, len(keys)), ordered)
    if sum(map(len, keys)) <= _SHAPE_TEXT_MAX:
        if len(_SHAPES) >= _SHAPES_MAX:
            _SHAPES.clear()
        _SHAPES[keys] = found
    return found


def _text(text: str) -> bytes:
    body = text.encode("utf-8", "surrogatepass")
    return _head(_BYTES, len(body)) + body


def _head(major: int, size: int) -> bytes:
    if size < 24:
        return bytes((major << 5 | size,))
    exponent = 0 if size < 1 << 8 else 1 if size < 1 << 16 else 2 if size < 1 << 32 else 3
    return bytes((major << 5 | 24 + exponent,)) + size.to_bytes(1 << exponent, "big")


_NO_KEYS = _head(_MAP, 0)
_BYTE_HEADS = [_head(_BYTES, size) for size in range(_SHORT)]
_CONSTANTS = {False: b"\xf4", True: b"\xf5", None: b"\xf6"}
_SHAPES: dict[tuple[str, ...], _Shape] = {}
