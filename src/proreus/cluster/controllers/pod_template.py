"""Pods and the templates they are made from: hash, pod of a template, readiness, availability.

Pure. Times are seconds since the epoch.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from proreus.api.frozen import thaw
from proreus.api.object import KubeObject
from proreus.api.values.timestamp import parse_time
from proreus.api.wire import json
from proreus.cluster.controllers import conditions
from proreus.cluster.controllers.ownership import is_deleting, reference_to

HASH_LABEL = "pod-template-hash"
_SAFE = "bcdfghjklmnpqrstvwxz2456789"  # no vowels and no look-alikes: no words by accident
_FNV_START, _FNV_PRIME = 2166136261, 16777619


def content_hash(content: Any, collisions: int | None = None) -> str:
    """A short name for some JSON; ``collisions`` gives the same content another one."""
    seen = _FNV_START
    salt = b"" if collisions is None else str(collisions).encode()
    for byte in json.encode(_ordered(thaw(content))) + salt:
        seen = ((seen ^ byte) * _FNV_PRIME) & 0xFFFFFFFF
    return "".join(_SAFE[int(digit) % len(_SAFE)] for digit in str(seen))


def _ordered(value: Any) -> Any:
    """The same value whatever order its fields came in."""
    if isinstance(value, Mapping):
        return {key: _ordered(value[key]) for key in sorted(value)}
    if isinstance(value, list):
        return [_ordered(element) for element in value]
    return value


def pod_from_template(template: Mapping[str, Any], owner: KubeObject) -> dict[str, Any]:
    """A pod that ``owner`` controls, named after it by the server."""
    plain: dict[str, Any] = thaw(template)
    own = plain.get("metadata") or {}
    metadata: dict[str, Any] = {
        "generateName": f"{owner.name}-",
        "namespace": owner.namespace,
        "ownerReferences": [reference_to(owner)],
    }
    for field in ("labels", "annotations", "finalizers"):
        if own.get(field):
            metadata[field] = own[field]
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": metadata,
        "spec": plain.get("spec") or {},
    }


def phase(pod: KubeObject) -> str:
    return str((pod.get("status") or {}).get("phase") or "")


def is_finished(pod: KubeObject) -> bool:
    return phase(pod) in ("Succeeded", "Failed")


def is_active(pod: KubeObject) -> bool:
    return not is_finished(pod) and not is_deleting(pod)


def is_ready(pod: KubeObject) -> bool:
    found = _ready(pod)
    return found is not None and found.get("status") == "True"


def ready_since(pod: KubeObject) -> float | None:
    """When a pod that is ready became so."""
    found = _ready(pod)
    if found is None or found.get("status") != "True":
        return None
    time = found.get("lastTransitionTime")
    return parse_time(time) if time else None


def available_in_s(pod: KubeObject, min_ready_s: int, now: float) -> float | None:
    """0 if it is available, else how long it must stay ready; None if it is not ready."""
    if not is_ready(pod):
        return None
    if not min_ready_s:
        return 0.0
    since = ready_since(pod)
    return None if since is None else max(0.0, since + min_ready_s - now)


def is_available(pod: KubeObject, min_ready_s: int, now: float) -> bool:
    return available_in_s(pod, min_ready_s, now) == 0.0


def restarts(pod: KubeObject) -> int:
    statuses = (pod.get("status") or {}).get("containerStatuses") or ()
    return max((int(status.get("restartCount") or 0) for status in statuses), default=0)


def created_at(obj: KubeObject) -> float:
    time = obj.metadata.creationTimestamp
    return parse_time(time) if time else 0.0


def _ready(pod: KubeObject) -> Any:
    return conditions.find((pod.get("status") or {}).get("conditions"), "Ready")
