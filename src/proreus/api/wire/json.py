"""JSON in and out. The only user of the JSON library besides the client's header-only decoding."""

from __future__ import annotations

from typing import Any

import orjson

JSONDecodeError = orjson.JSONDecodeError
JSONEncodeError = orjson.JSONEncodeError  # nested too deep, for a value that is JSON


def encode(value: Any) -> bytes:
    return orjson.dumps(value)


def canonical(value: Any) -> bytes:
    """Equal for equal values, however their keys are ordered: to find one among many."""
    return orjson.dumps(value, option=orjson.OPT_SORT_KEYS)


def encode_pretty(value: Any) -> bytes:
    return orjson.dumps(value, option=orjson.OPT_INDENT_2)


def decode(data: bytes | bytearray | memoryview | str) -> Any:
    return orjson.loads(data)
