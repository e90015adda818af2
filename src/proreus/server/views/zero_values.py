"""Fields that a typed server writes of an object with nothing but metadata: bookmarks have them.

Some fields of Kubernetes' types are written even when unset (Pod: ``spec: {"containers": null}``);
decoding an empty object adds them.
"""

from __future__ import annotations

from functools import lru_cache

from proreus.api.group_version import GroupVersionKind
from proreus.api.wire import json
from proreus.server.schema.check import check
from proreus.server.schema.definitions import Definitions

_HEAD = ("kind", "apiVersion", "metadata")


@lru_cache(maxsize=512)
def zero_body(gvk: GroupVersionKind, zero_spec: tuple[tuple[str, object], ...] = ()) -> bytes:
    """The fields as bytes that follow metadata: b"" or b',"spec":{}'. Nothing for custom kinds."""
    node = Definitions.load().node(gvk)
    if node is None:
        return b""
    fields = {key: value for key, value in check(node, {}).value.items() if key not in _HEAD}
    if zero_spec:
        fields["spec"].update(zero_spec)
    return b"," + json.encode(fields)[1:-1] if fields else b""
