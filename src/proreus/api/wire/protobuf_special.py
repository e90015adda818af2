"""Messages whose JSON form is not an object of their fields: times, quantities, raw JSON, lists.

Each is a pair of functions: the message's bytes → its JSON value, and back. None means the value
is absent. They read the few fields by hand; ``protobuf_codec`` calls them for the names below.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from typing import Any

from proreus.api.values import timestamp
from proreus.api.wire import json
from proreus.api.wire import protobuf_wire as wire
from proreus.api.wire.amplification import check_json

Decode = Callable[[bytes], Any]
Encode = Callable[[Any], bytes]

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_FIRST, _THIRD = b"\x0a", b"\x1a"  # length-delimited fields 1 and 3


def fields(body: bytes, message: str) -> Iterator[tuple[int, int | bytes]]:
    """Number and value of every varint and length-delimited field."""
    at, end = 0, len(body)
    while at < end:
        tag, at = wire.read_varint(body, at)
        if tag & 7 == 0:
            value, at = wire.read_varint(body, at)
            yield tag >> 3, value
        elif tag & 7 == 2:
            size, at = wire.read_varint(body, at)
            if at + size > end:
                raise wire.Truncated
            yield tag >> 3, body[at : at + size]
            at += size
        else:
            at = wire.skip(body, at, end, tag, message)


@lru_cache(maxsize=4096)
def _decode_time(body: bytes) -> Any:
    time = _timestamp(body)
    return f"{time:%Y-%m-%dT%H:%M:%SZ}".zfill(20) if time else None


def _decode_micro_time(body: bytes) -> Any:
    time = _timestamp(body)
    return f"{time:%Y-%m-%dT%H:%M:%S.%fZ}".zfill(27) if time else None


def _timestamp(body: bytes) -> datetime | None:
    if not body:
        return None  # the zero time
    found = {number: value for number, value in fields(body, "Time") if isinstance(value, int)}
    seconds, nanos = wire.signed(found.get(1, 0)), wire.signed(found.get(2, 0))
    try:
        return _EPOCH + timedelta(seconds=seconds, microseconds=nanos // 1000)
    except OverflowError as far:
        raise wire.ProtobufError(f"proto: time {seconds} out of range") from far


@lru_cache(maxsize=4096)
def _encode_time(text: Any) -> bytes:
    return _encode_timestamp(text, timestamp.canonical_time)


@lru_cache(maxsize=4096)
def _encode_micro_time(text: Any) -> bytes:
    return _encode_timestamp(text, timestamp.canonical_micro_time)


def _encode_timestamp(text: Any, canonical: Callable[[str], str]) -> bytes:
    if not isinstance(text, str):
        raise wire.ProtobufError(f"a time must be text, got {text!r}")
    try:
        since = datetime.fromisoformat(canonical(text)) - _EPOCH
    except ValueError as bad:
        raise wire.ProtobufError(str(bad)) from bad
    seconds = since.days * 86400 + since.seconds
    nanos = wire.write_varint(since.microseconds * 1000)
    return b"\x08" + wire.write_varint(seconds) + b"\x10" + nanos


@lru_cache(maxsize=4096)
def _decode_quantity(body: bytes) -> Any:
    return raw_bytes(body).decode("utf-8", "replace") or "0"


def _encode_quantity(value: Any) -> bytes:
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        raise wire.ProtobufError(f"a quantity must be text or a number, got {value!r}")
    return wire.delimited(_FIRST, str(value).encode())


@lru_cache(maxsize=4096)
def _decode_int_or_string(body: bytes) -> Any:
    kind, number, text = 0, 0, b""
    for field, value in fields(body, "IntOrString"):
        match field, value:
            case 1, int():
                kind = value
            case 2, int():
                number = wire.signed(value)
            case 3, bytes():
                text = value
    return text.decode("utf-8", "replace") if kind == 1 else number


def _encode_int_or_string(value: Any) -> bytes:
    match value:
        case str():
            return b"\x08\x01\x10\x00" + wire.delimited(_THIRD, value.encode())
        case int() if not isinstance(value, bool):
            return b"\x08\x00\x10" + wire.write_varint(value) + b"\x1a\x00"
        case _:
            raise wire.ProtobufError(f"an int-or-string must be one of the two, got {value!r}")


def raw_bytes(body: bytes) -> bytes:
    """Field 1 of a message that holds nothing but bytes."""
    for number, value in fields(body, "RawExtension"):
        if number == 1 and isinstance(value, bytes):
            return value
    return b""


def decode_json(raw: bytes) -> Any:
    if not raw:
        return None
    try:
        check_json(raw)
        return json.decode(raw)
    except json.JSONDecodeError as bad:
        raise wire.ProtobufError(f"raw value is no JSON: {bad}") from bad


def _decode_raw(body: bytes) -> Any:
    return decode_json(raw_bytes(body))


def encode_raw(value: Any) -> bytes:
    return wire.delimited(_FIRST, json.encode(value))


def _decode_texts(body: bytes) -> Any:
    return [
        value.decode("utf-8", "replace")
        for number, value in fields(body, "items")
        if number == 1 and isinstance(value, bytes)
    ]


def _encode_texts(values: Any) -> bytes:
    if not isinstance(values, list):
        raise wire.ProtobufError(f"expected a list, got {values!r}")
    return b"".join(wire.delimited(_FIRST, str(value).encode()) for value in values)


SPECIAL: dict[str, tuple[Decode, Encode]] = {
    "meta.v1.Time": (_decode_time, _encode_time),
    "meta.v1.Timestamp": (_decode_time, _encode_time),
    "meta.v1.MicroTime": (_decode_micro_time, _encode_micro_time),
    "meta.v1.FieldsV1": (_decode_raw, encode_raw),
    "meta.v1.Verbs": (_decode_texts, _encode_texts),
    "resource.Quantity": (_decode_quantity, _encode_quantity),
    "resource.QuantityValue": (_decode_quantity, _encode_quantity),
    "intstr.IntOrString": (_decode_int_or_string, _encode_int_or_string),
    "apiextensions.v1.JSON": (_decode_raw, encode_raw),
    "authentication.v1.ExtraValue": (_decode_texts, _encode_texts),
    "authentication.v1.AttestationValue": (_decode_texts, _encode_texts),
    "authorization.v1.ExtraValue": (_decode_texts, _encode_texts),
    "certificates.v1.ExtraValue": (_decode_texts, _encode_texts),
}
