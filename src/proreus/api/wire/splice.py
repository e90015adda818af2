"""An object's bytes, and the heads that turn them into what is sent (ARCHITECTURE, "Bytes first").

    stored   {"metadata":{"name":"a",…},"data":…}                      what storage keeps
    item     "metadata":{"resourceVersion":"7","name":"a",…},"data":…}  what the cache keeps
    object   {"kind":"ConfigMap","apiVersion":"v1","metadata":{"resourceVersion":"7",…},…}

An item has no brace in front, because all that is ever sent of it has a head there: a brace in a
list, kind and apiVersion too in a list of custom objects and everywhere else. So whatever goes out
is a join of heads and items, and none of them is cut.

Custom objects are stored with the version they were written in,
``{"metadata":{"storedVersion":"v1",…``: which one that was does not follow from a definition that
has changed since. No item has it.

The revision is known only when a write commits, and lists, single objects and events differ only in
their head, so each form is the one before it with a few bytes put in front: no decoding.
"""

from __future__ import annotations

from proreus.api.json_types import Json, JsonObject
from proreus.api.wire import json

METADATA = b'{"metadata":{'  # what stored bytes begin with
_BODY = len(METADATA)
_ITEM = b'"metadata":{"resourceVersion":"'
WRITTEN_IN = b'{"metadata":{"storedVersion":"'
_NOT_STORED = ("kind", "apiVersion")
_HEAD = (*_NOT_STORED, "metadata")
_NOT_STORED_METADATA = ("resourceVersion", "selfLink")


def stored_from_object(obj: Json) -> bytes:
    """The stored bytes of a decoded object: metadata first, and nothing that storage derives.

    Equal contents give equal bytes as long as keys keep their order, which decoding does.
    """
    metadata = {**obj["metadata"]}
    for name in _NOT_STORED_METADATA:
        metadata.pop(name, None)
    assert metadata, "an object without a name cannot be stored"
    stored = {"metadata": metadata, **obj}
    stored["metadata"] = metadata
    for name in _NOT_STORED:
        stored.pop(name, None)
    return json.encode(stored)


def with_version(stored: bytes, version: str) -> bytes:
    """Stored bytes that say which version they were written in."""
    return b'%b%b",%b' % (WRITTEN_IN, version.encode(), stored[_BODY:])


def split_version(stored: bytes) -> tuple[str, bytes]:
    """The version stored bytes were written in ("" if they do not say), and the bytes without."""
    if not stored.startswith(WRITTEN_IN):
        return "", stored
    end = stored.index(b'"', len(WRITTEN_IN))
    return stored[len(WRITTEN_IN) : end].decode(), METADATA + stored[end + 2 :]


def item_from_stored(stored: bytes, revision: int) -> bytes:
    assert stored.startswith(METADATA), "stored bytes start with metadata"
    return b'%b%d",%b' % (_ITEM, revision, stored[_BODY:])


def item_from_object(obj: Json) -> bytes:
    """Of a decoded object that has its revision, or is to have none."""
    rest = {name: value for name, value in obj.items() if name not in _HEAD}
    return json.encode({"metadata": obj["metadata"], **rest})[1:]


def stored_from_item(item: bytes) -> bytes:
    """Take the revision out again, e.g. to give a deleted object the deletion's revision."""
    end = item.index(b'"', len(_ITEM))
    return METADATA + item[end + 2 :]


def kind_head(kind: str, api_version: str) -> bytes:
    """What stands in front of an item to make it an object; build once per resource."""
    return b'{"kind":%b,"apiVersion":%b,' % (json.encode(kind), json.encode(api_version))


def whole(item: bytes) -> bytes:
    """An item as JSON of its own."""
    return b"{" + item


def decode_item(item: bytes) -> JsonObject:
    value: JsonObject = json.decode(whole(item))
    return value
