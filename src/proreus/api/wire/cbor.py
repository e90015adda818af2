"""CBOR as Kubernetes writes it (its ``application/cbor``, RFC 8949).

A document begins with the tag that says what it is. Text is written as byte strings, and map keys
in order.
"""

from __future__ import annotations

from typing import Any

import cbor2

from proreus.api.wire.stored_cbor import SELF_DESCRIBED as SELF_DESCRIBED

BEGIN_LIST, END_LIST = b"\x9f", b"\xff"  # of a list whose length is not known before its end
_MAP = 5


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
