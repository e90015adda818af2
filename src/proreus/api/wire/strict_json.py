"""JSON as the server reads a request body: duplicate fields named, faults worded as Go words them.

Stands where a body enters, before patches and the schema's check. A document without duplicates
costs one decode, one encode and two counts: encoding the value writes every string again, so a
colon is missing exactly if a key was lost. Where the text has escapes, which may hide colons, only
colons behind a closing quote are counted: they make a string a key. Only if the counts differ is
the document read again, slowly, to say which keys were given twice.

Invariant: what is returned can be encoded: it nests at most 254 deep, integers fit 64 bits.
"""

from __future__ import annotations

import codecs
import json as slow_json
import math
import re
from collections.abc import Iterable, Iterator
from typing import Any, Never

from proreus.api.wire import json
from proreus.api.wire.json_syntax import explain

_KEY = re.compile(rb'"[ \t\r\n]*:')
_SPACED = (b" :", b"\t:", b"\r:", b"\n:")
_LONE_SURROGATE = re.compile("[\ud800-\udfff]")


class JsonError(ValueError):
    """Bytes that are no JSON; ``str(error)`` is Go's wording."""


def decode_strict(data: bytes, *, merge_duplicates: bool = True) -> tuple[Any, tuple[str, ...]]:
    """The value and the paths of fields given twice, such as ``spec.containers[0].image``.

    Of two scalars or lists the last is kept. Two objects under one key are merged, as Go does when
    it decodes into a typed field; ``merge_duplicates=False`` keeps the last, as Go does for
    patches and custom resources.
    """
    value, text = _decode(data)
    encoded = _encode(value, data)
    if b"\\" not in text:
        if text.count(b":") == encoded.count(b":"):
            return value, ()
    elif _keys(text) == _keys(encoded):
        return value, ()
    found: dict[str, None] = {}
    return _read_slowly(text, found, merge=merge_duplicates), tuple(found)


def decode_lenient(data: bytes) -> Any:
    """The value alone; the last of duplicate fields wins."""
    value = _decode(data)[0]
    _encode(value, data)
    return value


def in_document_order(value: Any, paths: Iterable[str]) -> list[str]:
    """Sort field paths by where they stand in the document, unknown ones last."""
    rank = {path: index for index, path in enumerate(_walk(value, ""))}
    return sorted(paths, key=lambda path: rank.get(path, len(rank)))


def _decode(data: bytes) -> tuple[Any, bytes]:
    """The value, and the text it was read from, which is valid UTF-8."""
    try:
        return json.decode(data), data
    except json.JSONDecodeError:
        pass
    # Go reads bytes that are no UTF-8, and halves of surrogate pairs, as U+FFFD.
    text = data.decode("utf-8", "proreus.replace_each_byte")
    if fault := explain(data):
        raise JsonError(fault)
    repaired = text.encode()
    try:
        return json.decode(repaired), repaired
    except json.JSONDecodeError:
        return _read_slowly(repaired, {}, merge=False), repaired


def _encode(value: Any, data: bytes) -> bytes:
    try:
        return json.encode(value)
    except TypeError as deep:
        raise JsonError(explain(data) or "exceeded max depth") from deep


def _keys(text: bytes) -> int:
    unescaped = text.replace(b"\\\\", b"").replace(b'\\"', b"")
    if not any(space in unescaped for space in _SPACED):
        return unescaped.count(b'":')
    return len(_KEY.findall(unescaped))


class _Pairs(list[tuple[str, Any]]):
    """An object before its duplicate keys are folded."""


def _read_slowly(text: bytes, found: dict[str, None], *, merge: bool) -> Any:
    try:
        pairs = slow_json.loads(
            text,
            object_pairs_hook=_Pairs,
            parse_constant=_no_constant,
            parse_int=_integer,
            parse_float=_float,
        )
        return _fold(pairs, "", found, merge=merge)
    except RecursionError as deep:
        raise JsonError("exceeded max depth") from deep


def _integer(digits: str) -> int | float:
    """What fits no 64 bits is read as a float, here as by the fast decoder."""
    if len(digits) < 19:
        return int(digits)
    fits = len(digits) < 21 and -(2**63) <= int(digits) < 2**64
    return int(digits) if fits else _float(digits)


def _float(digits: str) -> float:
    value = float(digits)
    if math.isinf(value):
        raise JsonError(f"json: cannot unmarshal number {digits} into Go value of type float64")
    return value


def _no_constant(name: str) -> Never:
    raise JsonError(f"invalid character '{name[0]}' looking for beginning of value")


def _fold(value: Any, path: str, found: dict[str, None], *, merge: bool) -> Any:
    match value:
        case _Pairs():
            folded: dict[str, Any] = {}
            for raw_key, raw in value:
                key = _scrub(raw_key)
                below = f"{path}.{key}" if path else key
                item = _fold(raw, below, found, merge=merge)
                if key in folded:
                    found[below] = None
                    item = _merged(folded[key], item) if merge else item
                folded[key] = item
            return folded
        case list():
            return [_fold(v, f"{path}[{i}]", found, merge=merge) for i, v in enumerate(value)]
        case str():
            return _scrub(value)
        case _:
            return value


def _merged(first: Any, second: Any) -> Any:
    if not (isinstance(first, dict) and isinstance(second, dict)):
        return second
    merged = dict(first)
    for key, value in second.items():
        merged[key] = _merged(merged[key], value) if key in merged else value
    return merged


def _scrub(text: str) -> str:
    return _LONE_SURROGATE.sub("�", text)


def _walk(value: Any, path: str) -> Iterator[str]:
    if path:
        yield path
    if isinstance(value, dict):
        for key, child in value.items():
            yield from _walk(child, f"{path}.{key}" if path else key)
    elif isinstance(value, list):
        for index, child in enumerate(value):
            yield from _walk(child, f"{path}[{index}]")


def _replace_each_byte(error: UnicodeError) -> tuple[str, int]:
    assert isinstance(error, UnicodeDecodeError)
    return "�" * (error.end - error.start), error.end


codecs.register_error("proreus.replace_each_byte", _replace_each_byte)
