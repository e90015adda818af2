"""JSON in and out. The only user of the JSON library besides the client's header-only decoding."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import orjson

JSONDecodeError = orjson.JSONDecodeError
JSONEncodeError = orjson.JSONEncodeError  # nested too deep, for a value that is JSON


def encode(value: Any, stand_in: Callable[[Any], Any] | None = None) -> bytes:
    """``stand_in``: what is encoded in place of a value that is no JSON; it raises TypeError if
    nothing can be."""
    return orjson.dumps(value, stand_in)


def canonical(value: Any) -> bytes:
    """Equal for equal values, however their keys are ordered: to find one among many."""
    return orjson.dumps(value, option=orjson.OPT_SORT_KEYS)


def encode_pretty(value: Any) -> bytes:
    return orjson.dumps(value, option=orjson.OPT_INDENT_2)


def decode(data: bytes | bytearray | memoryview | str) -> Any:
    return orjson.loads(data)
