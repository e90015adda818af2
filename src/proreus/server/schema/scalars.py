"""The leaves of the decoding walk: one function per scalar shape."""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from proreus.api.typed import Shape, TypeNode
from proreus.api.values import quantity, timestamp

_INT32 = range(-(2**31), 2**31)
_INT64 = range(-(2**63), 2**63)
_BASE64 = re.compile(rb"[A-Za-z0-9+/\r\n]*")


class Nested(NamedTuple):
    """What was wanted where a type with a decoder of its own found a mismatch, and what that said.

    An error of the whole tells the place of that type, and nothing of the way inside it.
    """

    shape: Shape
    type_name: str
    text: str


class Mismatch(Exception):
    """A value of the wrong JSON type. ``path`` is filled from the leaf up while it travels."""

    def __init__(self, value: Any, *path: str | int, nested: Nested | None = None) -> None:
        super().__init__(value)
        self.value = value
        self.path: list[str | int] = list(path)
        self.nested = nested


class FormatError(ValueError):
    """A text that its own grammar refuses; Go reports these without a path."""


class Seen(list[str]):
    """Of one decoding: keys that no struct declares, anywhere; only whether there are any matters.

    ``misfits_left``: how many values may still be compared with their canonical form in vain. What
    does not fit is looked at twice, and so is everything in it: without a bound a deep value would
    be walked twice as often at each level.
    """

    __slots__ = ("misfits_left",)

    def __init__(self, misfits_left: int) -> None:
        super().__init__()
        self.misfits_left = misfits_left


Walk = Callable[[Any, Seen], Any]


def string(value: Any, seen: Seen) -> Any:
    return value if value.__class__ is str else _zero(value, "")


def _integer(node: TypeNode) -> Walk:
    allowed = _INT64 if node.format == "int64" else _INT32

    def walk(value: Any, seen: Seen) -> Any:
        return value if value.__class__ is int and value in allowed else _zero(value, 0)

    return walk


def _number(value: Any, seen: Seen) -> Any:
    if value.__class__ is float or value.__class__ is int:
        return value
    return _zero(value, 0)


def _boolean(value: Any, seen: Seen) -> Any:
    return value if value.__class__ is bool else _zero(value, False)


def _int_or_string(value: Any, seen: Seen) -> Any:
    if value.__class__ is str or (value.__class__ is int and value in _INT32):
        return value
    return _zero(value, 0)


def _zero(value: Any, zero: Any) -> Any:
    """What stands for null. Raises Mismatch for anything else."""
    if value is None:
        return zero
    raise Mismatch(value)


def plain_quantity(value: Any, seen: Seen) -> Any:
    return _read_quantity(value, quantity.canonical)


def resource_quantity(value: Any, seen: Seen) -> Any:
    """An amount in a resource list, which has thousandths as its smallest unit."""
    return _read_quantity(value, quantity.canonical_milli)


def _read_quantity(value: Any, canonical: Callable[[str], str]) -> str:
    if value is None:
        return "0"
    if value.__class__ is not str:
        if value.__class__ is bool or not isinstance(value, (int, float)):
            raise FormatError(quantity.FORMAT_WRONG)
        value = str(value)
    try:
        return canonical(value.strip())
    except quantity.QuantityError as found:
        raise FormatError(str(found)) from found


def _time(node: TypeNode) -> Walk:
    canonical = (
        timestamp.canonical_time if node.shape is Shape.TIME else timestamp.canonical_micro_time
    )

    def walk(value: Any, seen: Seen) -> Any:
        if value.__class__ is str:
            try:
                return canonical(value)
            except timestamp.TimeError as found:
                raise FormatError(str(found)) from found
        return _zero(value, None)

    return walk


def _bytes(value: Any, seen: Seen) -> Any:
    if value.__class__ is list:
        return base64.b64encode(bytes(map(_byte, value))).decode()
    return _base64(value) if value.__class__ is str else _zero(value, "")


def _byte(value: Any) -> int:
    """Go reads bytes from a list of numbers, too."""
    if value is None:
        return 0
    if value.__class__ is int and value in range(256):
        found: int = value
        return found
    raise Mismatch(value, nested=Nested(Shape.INTEGER, "uint8", "unrecognized type: uint8"))


def _base64(text: str) -> str:
    plain = text.replace("\n", "").replace("\r", "") if "\n" in text or "\r" in text else text
    try:
        base64.b64decode(plain, validate=True)
    except (binascii.Error, ValueError) as found:
        raise FormatError(f"illegal base64 data at input byte {_bad_byte(text)}") from found
    if len(plain) % 4:
        raise FormatError(f"illegal base64 data at input byte {_bad_byte(text)}")
    return plain


def _bad_byte(text: str) -> int:
    """Where Go's decoder stops, newlines counted: at a foreign byte, at padding in the wrong place
    or behind it, else at the group that is incomplete."""
    data = text.encode(errors="surrogatepass")
    found = _BASE64.match(data)
    end = found.end() if found else 0
    in_group = sum(byte not in b"\r\n" for byte in data[:end]) % 4
    if end == len(data):
        return end - in_group
    if data[end : end + 1] != b"=" or in_group < 2:
        return end
    at = _past_newlines(data, end + 1)
    if in_group == 2:
        if at == len(data):
            return at
        if data[at : at + 1] != b"=":
            return at - 1
        at = _past_newlines(data, at + 1)
    return at


def _past_newlines(data: bytes, at: int) -> int:
    while data[at : at + 1] in (b"\r", b"\n"):
        at += 1
    return at


def _any(value: Any, seen: Seen) -> Any:
    return value


WALKS: Mapping[Shape, Callable[[TypeNode], Walk]] = {
    Shape.STRING: lambda _: string,
    Shape.INTEGER: _integer,
    Shape.NUMBER: lambda _: _number,
    Shape.BOOLEAN: lambda _: _boolean,
    Shape.INT_OR_STRING: lambda _: _int_or_string,
    Shape.QUANTITY: lambda _: plain_quantity,
    Shape.TIME: _time,
    Shape.MICRO_TIME: _time,
    Shape.BYTES: lambda _: _bytes,
    Shape.ANY: lambda _: _any,
}
