"""The leaves of the decoding walk: one function per scalar shape."""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Callable, Mapping
from typing import Any

from proreus.api.typed import Shape, TypeNode
from proreus.api.values import quantity, timestamp

_INT32 = range(-(2**31), 2**31)
_INT64 = range(-(2**63), 2**63)
_BASE64 = re.compile(r"[A-Za-z0-9+/]*", re.ASCII)


class Mismatch(Exception):
    """A value of the wrong JSON type. ``path`` is filled from the leaf up while it travels."""

    def __init__(self, value: Any, *path: str | int) -> None:
        super().__init__(value)
        self.value = value
        self.path: list[str | int] = list(path)


class FormatError(ValueError):
    """A text that its own grammar refuses; Go reports these without a path."""


Walk = Callable[[Any, list[str]], Any]


def string(value: Any, seen: list[str]) -> Any:
    return value if value.__class__ is str else _zero(value, "")


def _integer(node: TypeNode) -> Walk:
    allowed = _INT64 if node.format == "int64" else _INT32

    def walk(value: Any, seen: list[str]) -> Any:
        return value if value.__class__ is int and value in allowed else _zero(value, 0)

    return walk


def _number(value: Any, seen: list[str]) -> Any:
    if value.__class__ is float or value.__class__ is int:
        return value
    return _zero(value, 0)


def _boolean(value: Any, seen: list[str]) -> Any:
    return value if value.__class__ is bool else _zero(value, False)


def _int_or_string(value: Any, seen: list[str]) -> Any:
    if value.__class__ is str or (value.__class__ is int and value in _INT32):
        return value
    return _zero(value, 0)


def _zero(value: Any, zero: Any) -> Any:
    """What stands for null. Raises Mismatch for anything else."""
    if value is None:
        return zero
    raise Mismatch(value)


def plain_quantity(value: Any, seen: list[str]) -> Any:
    return _read_quantity(value, quantity.canonical)


def resource_quantity(value: Any, seen: list[str]) -> Any:
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

    def walk(value: Any, seen: list[str]) -> Any:
        if value.__class__ is str:
            try:
                return canonical(value)
            except timestamp.TimeError as found:
                raise FormatError(str(found)) from found
        return _zero(value, None)

    return walk


def _bytes(value: Any, seen: list[str]) -> Any:
    return _base64(value) if value.__class__ is str else _zero(value, "")


def _base64(text: str) -> str:
    plain = text.replace("\n", "").replace("\r", "") if "\n" in text or "\r" in text else text
    try:
        base64.b64decode(plain, validate=True)
    except (binascii.Error, ValueError) as found:
        raise FormatError(f"illegal base64 data at input byte {_bad_byte(plain)}") from found
    if len(plain) % 4:
        raise FormatError(f"illegal base64 data at input byte {_bad_byte(plain)}")
    return plain


def _bad_byte(text: str) -> int:
    """Where Go's decoder stops: at the first foreign byte, else at the incomplete group."""
    match = _BASE64.match(text)
    good = match.end() if match else 0
    if good < len(text) and text[good] != "=":
        return good
    if good < len(text):  # padding in the wrong place or of the wrong length
        return good if good % 4 < 2 else len(text)
    return good - good % 4


def _any(value: Any, seen: list[str]) -> Any:
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
