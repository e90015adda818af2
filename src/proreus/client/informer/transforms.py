"""What to keep of an object before it is cached; called once per received object.

A transform takes a KubeObject and returns one, the same or a smaller one. The key, uid and
resource version must stay.
"""

from __future__ import annotations

import msgspec

from proreus.api.object import KubeObject
from proreus.client.reflector.reflector import Transform

_MANAGED = b'"managedFields"'
(_COMMA,) = b","


class _Metadata(msgspec.Struct, gc=False):
    managedFields: msgspec.Raw = msgspec.Raw()


class _Object(msgspec.Struct, gc=False):
    metadata: _Metadata = msgspec.field(default_factory=_Metadata)


_decode = msgspec.json.Decoder(_Object).decode
_decode_parts = msgspec.json.Decoder(dict[str, msgspec.Raw]).decode
_encode = msgspec.json.Encoder().encode


def drop_managed_fields(obj: KubeObject) -> KubeObject:
    """Without ``metadata.managedFields``, often half of an object. Costs about 3 µs: they are cut
    out of the bytes, nothing is decoded, and the header stays what it is."""
    raw = obj.raw
    start = raw.find(_MANAGED)
    if start < 0:
        return obj
    value = bytes(_decode(raw).metadata.managedFields)
    colon, end = start + len(_MANAGED), start + len(_MANAGED) + 1 + len(value)
    if not value or raw[colon:end] != b":" + value or raw.find(_MANAGED, end) >= 0:
        return _taken_apart(obj)  # written with spaces, or something else has that name
    if raw[start - 1] == _COMMA:
        start -= 1
    elif raw[end] == _COMMA:
        end += 1
    return msgspec.structs.replace(obj, raw=raw[:start] + raw[end:], _decoded=None)


def _taken_apart(obj: KubeObject) -> KubeObject:
    parts = _decode_parts(obj.raw)
    metadata = _decode_parts(parts.get("metadata", b"{}"))
    if metadata.pop("managedFields", None) is None:
        return obj
    return KubeObject.from_bytes(_encode(parts | {"metadata": metadata}))


def drop_fields(*paths: str) -> Transform:
    """Without the fields at these dotted paths (``spec.template``, ``data``); missing ones are
    fine. Decodes and encodes each object that has one of them."""
    split = [path.split(".") for path in paths]

    def transform(obj: KubeObject) -> KubeObject:
        content = obj.to_dict()
        # Every path is tried: a list, so that ``any`` does not stop at the first one found.
        found = [_remove(content, path) for path in split]
        return KubeObject.from_dict(content) if any(found) else obj

    return transform


def chain(*transforms: Transform) -> Transform:
    """One after the other."""

    def transform(obj: KubeObject) -> KubeObject:
        for step in transforms:
            obj = step(obj)
        return obj

    return transform


def _remove(content: object, path: list[str]) -> bool:
    for part in path[:-1]:
        content = content.get(part) if isinstance(content, dict) else None
    return isinstance(content, dict) and content.pop(path[-1], None) is not None
