"""JSON as the server reads a request body: duplicate fields named, faults worded as Go words them.

Stands where a body enters, before patches and the schema's check. A document without duplicates
costs one decode and one encode: what is written compactly, as programs do, comes out as it went in.
Of others colons are counted: encoding the value writes every string again, so a colon is missing
exactly if a key was lost. Where the text has escapes, which may hide colons, only colons behind a
closing quote are counted: they make a string a key. Only if the counts differ is the document read
again, slowly, to say which keys were given twice.

Invariant: what is returned can be encoded: it nests at most 254 deep, integers fit 64 bits. Only
``decode_deep`` returns more, and says so.
"""

from __future__ import annotations

import codecs
import re
from typing import Any

from proreus.api.wire import json
from proreus.api.wire.json_reader import JsonRead, NumberTooLarge, read_json
from proreus.api.wire.json_syntax import explain

_KEY = re.compile(rb'"[ \t\r\n]*:')
_SPACED = (b" :", b"\t:", b"\r:", b"\n:")


class JsonError(ValueError):
    """Bytes that are no JSON; ``str(error)`` is Go's wording."""


class JsonTooDeep(JsonError):
    """JSON that nests deeper than values are kept, though not deeper than Go reads.

    ``read`` is what could be kept of it.
    """

    def __init__(self, read: JsonRead) -> None:
        super().__init__("exceeded max depth")
        self.read = read


def decode_strict(data: bytes, *, merge_duplicates: bool = True) -> tuple[Any, tuple[str, ...]]:
    """The value and the paths of fields given twice, such as ``spec.containers[0].image``.

    Of two scalars or lists the last is kept. Two objects under one key are merged, as Go does when
    it decodes into a typed field; ``merge_duplicates=False`` keeps the last, as Go does for
    patches and custom resources. Raises JsonError.
    """
    try:
        value = json.decode(data)
        if not _loses_keys(data, json.encode(value)):
            return value, ()
    except (json.JSONDecodeError, TypeError):
        pass  # no JSON, no UTF-8 or very deep: read again, slowly
    read = decode_deep(data, merge_duplicates=merge_duplicates)
    if read.is_cut:
        raise JsonTooDeep(read)
    return read.value, read.duplicates


def decode_deep(data: bytes, *, merge_duplicates: bool = True) -> JsonRead:
    """As ``decode_strict``, but what is very deep is marked, not refused. Raises JsonError."""
    if fault := explain(data):
        raise JsonError(fault)
    # Go reads bytes that are no UTF-8, and halves of surrogate pairs, as U+FFFD.
    text = data.decode("utf-8", "proreus.replace_each_byte")
    try:
        return read_json(text, merge=merge_duplicates)
    except NumberTooLarge as error:
        raise JsonError(str(error)) from error


def _loses_keys(text: bytes, encoded: bytes) -> bool:
    if text.rstrip() == encoded:
        return False
    if b"\\" not in text:
        return text.count(b":") != encoded.count(b":")
    return _keys(text) != _keys(encoded)


def _keys(text: bytes) -> int:
    unescaped = text.replace(b"\\\\", b"").replace(b'\\"', b"")
    if not any(space in unescaped for space in _SPACED):
        return unescaped.count(b'":')
    return len(_KEY.findall(unescaped))


def _replace_each_byte(error: UnicodeError) -> tuple[str, int]:
    assert isinstance(error, UnicodeDecodeError)
    return "\ufffd" * (error.end - error.start), error.end


codecs.register_error("proreus.replace_each_byte", _replace_each_byte)
