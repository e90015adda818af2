"""The state of objects, mostly pods, as all components read it: phase, readiness, deletion.

Pure. Times are seconds since the epoch.
"""

from __future__ import annotations

import msgspec

from proreus.api.object import KubeObject, plain_field
from proreus.api.values.timestamp import parse_time
from proreus.client import conditions

FINISHED = ("Succeeded", "Failed")  # phases that nothing follows


def is_deleting(obj: KubeObject) -> bool:
    return bool(plain_field(obj, "metadata").get("deletionTimestamp"))


def created_at(obj: KubeObject) -> float:
    time = obj.metadata.creationTimestamp
    return parse_time(time) if time else 0.0


def phase(pod: KubeObject) -> str:
    return str(plain_field(pod, "status").get("phase") or "")


def is_finished(pod: KubeObject) -> bool:
    return phase(pod) in FINISHED


def is_active(pod: KubeObject) -> bool:
    return not is_finished(pod) and not is_deleting(pod)


class _Spec(msgspec.Struct, gc=False):
    nodeName: str | None = None


class _Pod(msgspec.Struct, gc=False):
    spec: _Spec = msgspec.field(default_factory=_Spec)


_decode = msgspec.json.Decoder(_Pod).decode


def node_name(pod: KubeObject) -> str:
    """Empty if it is not placed. Does not decode the rest."""
    return _decode(pod.raw).spec.nodeName or ""


def is_ready(pod: KubeObject) -> bool:
    return conditions.is_true(pod, "Ready")


def ready_since(pod: KubeObject) -> float | None:
    """When a pod that is ready became so."""
    found = conditions.find(pod, "Ready")
    if found is None or found.get("status") != "True":
        return None
    time = found.get("lastTransitionTime")
    return parse_time(time) if time else None


def until_available_s(pod: KubeObject, min_ready_s: int, now: float) -> float | None:
    """0 if it is available, else how long it must stay ready; None if it is not ready."""
    if not is_ready(pod):
        return None
    if not min_ready_s:
        return 0.0
    since = ready_since(pod)
    return None if since is None else max(0.0, since + min_ready_s - now)


def is_available(pod: KubeObject, min_ready_s: int, now: float) -> bool:
    return until_available_s(pod, min_ready_s, now) == 0.0


def restarts(pod: KubeObject) -> int:
    statuses = (pod.get("status") or {}).get("containerStatuses") or ()
    return max((int(status.get("restartCount") or 0) for status in statuses), default=0)
