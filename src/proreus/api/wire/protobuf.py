"""application/vnd.kubernetes.protobuf: objects, lists, options and watch frames ⇄ bytes.

Every body is an envelope: four bytes, then a message that carries kind, apiVersion and the
object's own bytes. Typed clients (kubectl create, client-go) send their writes this way and have
no fallback. What has no message (custom resources, Table) cannot be written.
"""

from __future__ import annotations

import struct
from functools import cache, lru_cache
from pathlib import Path
from typing import Any

from proreus.api.group_version import GroupVersion, GroupVersionKind
from proreus.api.json_types import JsonObject
from proreus.api.wire import json
from proreus.api.wire.amplification import Budget
from proreus.api.wire.protobuf_codec import Message, Messages
from proreus.api.wire.protobuf_special import SPECIAL, decode_json, encode_raw, fields, raw_bytes
from proreus.api.wire.protobuf_wire import ProtobufError, Truncated, delimited, write_varint

__all__ = [
    "ListWriter",
    "ProtobufError",
    "decode",
    "encode",
    "encode_message",
    "encode_watch_event",
    "in_envelope",
    "watch_frame",
]

MAGIC = b"k8s\x00"
_MISSING_MAGIC = (
    "provided data does not appear to be a protobuf message, expected prefix [107 56 115 0]"
)
_API_VERSION, _RAW = b"\x0a", b"\x12"
# Kinds in versions that are read and not served, which have the messages of those that are.
_UNSERVED = {"policy.v1beta1.Eviction": "policy.v1.Eviction"}
# contentEncoding and contentType, which Go writes even when they are empty.
_NO_CONTENT_TYPE = b"\x1a\x00\x22\x00"


def encode(obj: JsonObject, kind: GroupVersionKind) -> bytes:
    """The envelope with the object in it. Fields without a number are left out."""
    return in_envelope(encode_message(obj, kind), kind)


def encode_message(obj: JsonObject, kind: GroupVersionKind) -> bytes:
    """The object alone: what an envelope holds, and what a list holds of each of its items."""
    try:
        return _message(kind).encode(obj)
    except RecursionError as deep:
        raise ProtobufError("exceeded max depth") from deep


def in_envelope(message: bytes, kind: GroupVersionKind) -> bytes:
    return b"".join((MAGIC, _typed(kind), delimited(_RAW, message), _NO_CONTENT_TYPE))


class ListWriter:
    """A list written in parts: ``start``, each ``item``, ``end``; joined they are its envelope.

    The envelope begins with its size, so ``start`` takes that of all items together.
    """

    __slots__ = ("_head", "_item_heads", "_kind", "end")

    def __init__(self, head: JsonObject, kind: GroupVersionKind, field: str) -> None:
        """``head`` has all fields but ``field``, which holds the items. Raises ProtobufError."""
        message = _message(kind)
        self._kind = kind
        self._head = message.encode(head)
        self._item_heads = message.heads(field)
        self.end = _NO_CONTENT_TYPE

    def item(self, message: bytes) -> bytes:
        return self._item_heads[len(message)] + message

    def start(self, size: int) -> bytes:
        raw = _RAW + write_varint(len(self._head) + size)
        return b"".join((MAGIC, _typed(self._kind), raw, self._head))


def decode(data: bytes) -> JsonObject:
    """The object of an envelope, kind and apiVersion included.

    Raises ProtobufError, TooManyContainers.
    """
    try:
        return _decode(data)
    except IndexError as end:
        raise Truncated from end
    except RecursionError as deep:
        raise ProtobufError("exceeded max depth") from deep


def encode_watch_event(event_type: str, obj: JsonObject, kind: GroupVersionKind) -> bytes:
    """One frame of a watch stream: four bytes of length, then the event."""
    return watch_frame(event_type, encode(obj, kind))


def watch_frame(event_type: str, enveloped: bytes) -> bytes:
    extension = delimited(_API_VERSION, enveloped)
    event = delimited(b"\x0a", event_type.encode()) + delimited(b"\x12", extension)
    return struct.pack(">I", len(event)) + event


def _decode(data: bytes) -> JsonObject:
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
    return {"kind": kind, "apiVersion": api_version, **message.decode(raw, 0, len(raw), Budget())}


@lru_cache(maxsize=512)
def _typed(kind: GroupVersionKind) -> bytes:
    type_meta = delimited(b"\x0a", kind.api_version.encode()) + delimited(
        b"\x12", kind.kind.encode()
    )
    return delimited(b"\x0a", type_meta)


def _message(kind: GroupVersionKind) -> Message:
    name = _message_name(kind)
    messages = _messages()
    if name not in messages:
        raise ProtobufError(f'no kind "{kind.kind}" is registered for version "{kind.api_version}"')
    return messages[name]


@lru_cache(maxsize=512)
def _message_name(kind: GroupVersionKind) -> str:
    """Messages are named by the first word of their group; options and Status by no group."""
    package = kind.group.partition(".")[0] or "core"
    own = f"{package}.{kind.version}.{kind.kind}"
    own = _UNSERVED.get(own, own)
    return own if own in _messages() else f"meta.v1.{kind.kind}"


@cache
def _messages() -> Messages:
    text = Path(__file__).with_name("protobuf_fields.json").read_bytes()
    extension = (_decode_extension, encode_raw)
    return Messages(json.decode(text), {**SPECIAL, "runtime.RawExtension": extension})


def _decode_extension(body: bytes) -> Any:
    """Raw JSON, or an object in an envelope of its own, as in a List."""
    raw = raw_bytes(body)
    return _decode(raw) if raw.startswith(MAGIC) else decode_json(raw)
