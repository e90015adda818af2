"""What a typed server writes of an object that has nothing but metadata: bookmarks show it.

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
def zero_body(gvk: GroupVersionKind) -> bytes:
    """The fields as bytes that follow metadata: b"" or b',"spec":{}'. Nothing for custom kinds."""
    node = Definitions.load().node(gvk)
    if node is None:
        return b""
    fields = {key: value for key, value in check(node, {}).value.items() if key not in _HEAD}
    if gvk.kind == "CustomResourceDefinition":
        fields["spec"]["versions"] = None  # left out elsewhere, to tell none from an empty list
    return b"," + json.encode(fields)[1:-1] if fields else b""
