"""application/vnd.kubernetes.protobuf: objects, lists, options and watch frames ⇄ bytes.

Every body is an envelope: four bytes, then a message that carries kind, apiVersion and the
object's own bytes. Typed clients (kubectl create, client-go) send their writes this way and have
no fallback. What has no message (custom resources, Table) cannot be written; ask ``has_message``.
"""

from __future__ import annotations

import struct
from functools import cache
from importlib import resources
from typing import Any

from proreus.api.group_version import GroupVersion, GroupVersionKind
from proreus.api.wire import json
from proreus.api.wire.protobuf_codec import Message, Messages
from proreus.api.wire.protobuf_special import SPECIAL, decode_json, encode_raw, fields, raw_bytes
from proreus.api.wire.protobuf_wire import ProtobufError, Truncated, delimited

__all__ = [
    "ProtobufError",
    "decode",
    "decode_watch_event",
    "encode",
    "encode_watch_event",
    "has_message",
]

MAGIC = b"k8s\x00"
_MISSING_MAGIC = (
    "provided data does not appear to be a protobuf message, expected prefix [107 56 115 0]"
)
_API_VERSION, _RAW = b"\x0a", b"\x12"
# contentEncoding and contentType, which Go writes even when they are empty.
_NO_CONTENT_TYPE = b"\x1a\x00\x22\x00"


def has_message(kind: GroupVersionKind) -> bool:
    return _message_name(kind) in _messages()


def encode(obj: dict[str, Any], kind: GroupVersionKind) -> bytes:
    """The envelope with the object in it. Fields without a number are left out."""
    try:
        body = _message(kind).encode(obj)
    except RecursionError as deep:
        raise ProtobufError("exceeded max depth") from deep
    return _enveloped(kind, body)


def decode(data: bytes) -> dict[str, Any]:
    """The object of an envelope, kind and apiVersion included."""
    try:
        return _decode(data)
    except IndexError as end:
        raise Truncated from end
    except RecursionError as deep:
        raise ProtobufError("exceeded max depth") from deep


def encode_watch_event(event_type: str, obj: dict[str, Any], kind: GroupVersionKind) -> bytes:
    """One frame of a watch stream: four bytes of length, then the event."""
    extension = delimited(_API_VERSION, encode(obj, kind))
    event = delimited(b"\x0a", event_type.encode()) + delimited(b"\x12", extension)
    return struct.pack(">I", len(event)) + event


def decode_watch_event(frame: bytes) -> tuple[str, dict[str, Any]]:
    """Type and object of one frame, without the four bytes of length."""
    event_type, body = "", b""
    try:
        for number, value in fields(frame, "WatchEvent"):
            if number == 1 and isinstance(value, bytes):
                event_type = value.decode("utf-8", "replace")
            elif number == 2 and isinstance(value, bytes):
                body = raw_bytes(value)
    except IndexError as end:
        raise Truncated from end
    return event_type, decode(body)


def _decode(data: bytes) -> dict[str, Any]:
    if not data:
        raise ProtobufError("empty data")
    if not data.startswith(MAGIC):
        raise ProtobufError(_MISSING_MAGIC)
    if len(data) == len(MAGIC):
        raise ProtobufError("empty body")
    type_meta, raw = b"", b""
    for number, value in fields(data[len(MAGIC) :], "Unknown"):
        if number == 1 and isinstance(value, bytes):
            type_meta = value
        elif number == 2 and isinstance(value, bytes):
            raw = value
    named = {n: v.decode("utf-8", "replace") for n, v in fields(type_meta, "TypeMeta")
             if isinstance(v, bytes)}  # fmt: skip
    api_version, kind = named.get(1, ""), named.get(2, "")
    version = GroupVersion.parse(api_version)
    message = _message(version.kind(kind))
    return {"kind": kind, "apiVersion": api_version, **message.decode(raw, 0, len(raw))}


def _enveloped(kind: GroupVersionKind, body: bytes) -> bytes:
    type_meta = delimited(b"\x0a", kind.api_version.encode()) + delimited(
        b"\x12", kind.kind.encode()
    )
    head = delimited(b"\x0a", type_meta)
    return b"".join((MAGIC, head, delimited(_RAW, body), _NO_CONTENT_TYPE))


def _message(kind: GroupVersionKind) -> Message:
    name = _message_name(kind)
    messages = _messages()
    if name not in messages:
        raise ProtobufError(f'no kind "{kind.kind}" is registered for version "{kind.api_version}"')
    return messages[name]


@cache
def _message_name(kind: GroupVersionKind) -> str:
    """Messages are named by the first word of their group; options and Status by no group."""
    package = kind.group.partition(".")[0] or "core"
    own = f"{package}.{kind.version}.{kind.kind}"
    return own if own in _messages() else f"meta.v1.{kind.kind}"


@cache
def _messages() -> Messages:
    text = resources.files(__package__).joinpath("protobuf_fields.json").read_bytes()
    extension = (_decode_extension, encode_raw)
    return Messages(json.decode(text), {**SPECIAL, "runtime.RawExtension": extension})


def _decode_extension(body: bytes) -> Any:
    """Raw JSON, or an object in an envelope of its own, as in a List."""
    raw = raw_bytes(body)
    return _decode(raw) if raw.startswith(MAGIC) else decode_json(raw)
