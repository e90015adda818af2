"""Whether a value is what a JSON text says, compared as a JSON patch's ``test`` compares them.

Kubernetes' library reads objects and lists into parts, however they are ordered and spaced, but
compares scalars by their text: what the request has against what the server writes, which escapes
``<``, ``>`` and ``&``. So a ``test`` of such a text passes only if the request escapes them too.
"""

from __future__ import annotations

from typing import Any

import msgspec

from proreus.api.wire import json

_OPERATIONS = msgspec.json.Decoder(list[dict[str, msgspec.Raw] | None])
_OBJECT = msgspec.json.Decoder(dict[str, msgspec.Raw])
_LIST = msgspec.json.Decoder(list[msgspec.Raw])
# What Go's encoder escapes beyond what every encoder does.
_GO_ESCAPES = {
    ord(char): f"\\u{ord(char):04x}" for char in ("<", ">", "&", "\u2028", "\u2029")
}  # fmt: skip


def value_texts(body: bytes) -> list[bytes | None] | None:
    """The text of each operation's ``value``, None where it has none; None: they cannot be told."""
    try:
        operations = _OPERATIONS.decode(body)
    except (msgspec.DecodeError, UnicodeDecodeError):
        return None
    return [bytes(op["value"]) if op and "value" in op else None for op in operations]


def is_written(value: Any, text: bytes) -> bool:
    """Whether the text says the value in the words in which the server says it."""
    try:
        return _is_written(value, text)
    except msgspec.DecodeError:
        return False


def _is_written(value: Any, text: bytes) -> bool:
    text = text.strip()
    if isinstance(value, dict):
        if text[:1] != b"{":
            return False
        parts = _OBJECT.decode(text)
        return parts.keys() == value.keys() and all(
            _is_written(value[key], bytes(part)) for key, part in parts.items()
        )
    if isinstance(value, list):
        if text[:1] != b"[":
            return False
        items = _LIST.decode(text)
        return len(items) == len(value) and all(
            _is_written(value[at], bytes(item)) for at, item in enumerate(items)
        )
    return text == _scalar(value)


def _scalar(value: Any) -> bytes:
    written = json.encode(value)
    if isinstance(value, str):
        return written.decode().translate(_GO_ESCAPES).encode()
    return written.removesuffix(b".0") if isinstance(value, float) else written
