"""Pod templates: their hash, and the pods that owners create from them. Pure."""

from __future__ import annotations

from typing import Any

from proreus.api.frozen import thaw
from proreus.api.json_types import Json, JsonObject
from proreus.api.object import KubeObject
from proreus.api.wire import json
from proreus.client.ownership import controller_reference

HASH_LABEL = "pod-template-hash"
_SAFE = "bcdfghjklmnpqrstvwxz2456789"  # no vowels and no look-alikes: no words by accident
_FNV_START, _FNV_PRIME = 2166136261, 16777619


def content_hash(content: Any, collisions: int | None = None) -> str:
    """A short name for some JSON; ``collisions`` gives the same content another one."""
    seen = _FNV_START
    salt = b"" if collisions is None else str(collisions).encode()
    for byte in json.canonical(thaw(content)) + salt:
        seen = ((seen ^ byte) * _FNV_PRIME) & 0xFFFFFFFF
    return "".join(_SAFE[int(digit) % len(_SAFE)] for digit in str(seen))


def desired_replicas(owner: KubeObject) -> int:
    replicas = owner.spec.replicas
    return 1 if replicas is None else int(replicas)


def pod_from_template(template: Json, owner: KubeObject) -> JsonObject:
    """A pod that ``owner`` controls, named after it by the server."""
    plain: JsonObject = thaw(template)
    own = plain.get("metadata") or {}
    metadata: JsonObject = {
        "generateName": f"{owner.name}-",
        "namespace": owner.namespace,
        "ownerReferences": [controller_reference(owner)],
    }
    for field in ("labels", "annotations", "finalizers"):
        if own.get(field):
            metadata[field] = own[field]
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": metadata,
        "spec": plain.get("spec") or {},
        "status": {},  # as Go's clients write it: a server takes the pod as it is
    }
