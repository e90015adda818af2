"""An object's bytes, and the heads that turn them into what is sent (design, "Bytes first").

    stored   {"metadata":{"name":"a",…},"data":…}                       what storage keeps
    item     {"metadata":{"resourceVersion":"7","name":"a",…},"data":…}  what the cache keeps
    object   {"kind":"ConfigMap","apiVersion":"v1","metadata":{"resourceVersion":"7",…},…}

The revision is known only when a write commits, and lists, single objects and events differ only in
their head, so each form is the one before it with a few bytes put in front: no decoding.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from proreus.api.wire import json

_METADATA = b'{"metadata":{'
_BODY = len(_METADATA)
_ITEM = b'{"metadata":{"resourceVersion":"'
_NOT_STORED = ("kind", "apiVersion", "metadata")
_NOT_STORED_METADATA = ("resourceVersion", "selfLink")


def stored_from_object(obj: Mapping[str, Any]) -> bytes:
    """The stored bytes of a decoded object: metadata first, and nothing that storage derives.

    Equal contents give equal bytes as long as keys keep their order, which decoding does.
    """
    metadata = obj["metadata"]
    kept = {k: v for k, v in metadata.items() if k not in _NOT_STORED_METADATA}
    assert kept, "an object without a name cannot be stored"
    rest = {k: v for k, v in obj.items() if k not in _NOT_STORED}
    return json.encode({"metadata": kept, **rest})


def item_from_stored(stored: bytes, revision: int) -> bytes:
    assert stored.startswith(_METADATA), "stored bytes start with metadata"
    return b'%b%d",%b' % (_ITEM, revision, stored[_BODY:])


def stored_from_item(item: bytes) -> bytes:
    """Take the revision out again, e.g. to give a deleted object the deletion's revision."""
    end = item.index(b'"', len(_ITEM))
    return _METADATA + item[end + 2 :]


def kind_head(kind: str, api_version: str) -> bytes:
    """What stands in front of an item to make it an object; build once per resource."""
    return b'{"kind":%b,"apiVersion":%b,' % (json.encode(kind), json.encode(api_version))


def object_from_item(item: bytes, head: bytes) -> bytes:
    return head + item[1:]


def decode_item(item: bytes) -> dict[str, Any]:
    value: dict[str, Any] = json.decode(item)
    return value
