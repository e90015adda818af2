"""Encodings of whole answers besides compact JSON. Streams never use these."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from proreus.api.group_version import GroupVersion, GroupVersionKind
from proreus.api.wire import json


def indented(body: bytes) -> bytes:
    """For people with curl: two spaces, and no line feed at the end."""
    return json.encode_pretty(json.decode(body))


def to_yaml(body: bytes) -> bytes:
    from proreus.api.wire import yaml  # few ask for it, and it is slow to load

    return yaml.encode(json.decode(body))


def to_cbor(body: bytes) -> bytes:
    from proreus.api.wire import cbor  # few ask for it

    return cbor.encode(json.decode(body))


def to_protobuf(body: bytes) -> bytes:
    """With the envelope. Raises ProtobufError for kinds without a message: Table, custom ones."""
    from proreus.api.wire import protobuf

    obj = json.decode(body)
    return protobuf.encode(obj, type_of(obj))


def type_of(obj: Mapping[str, Any]) -> GroupVersionKind:
    """What an object says it is. Discovery documents of the core group do not say their version."""
    return GroupVersion.parse(obj.get("apiVersion") or "v1").kind(obj.get("kind", ""))
