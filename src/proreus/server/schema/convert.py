"""Conversion between versions of one kind: autoscalers (v1, v2) and the two groups of events.

Objects carry kind and apiVersion. The input is not changed; parts of it may be shared with the
result. Every other built-in kind is served in the version it is stored in.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from proreus.api.group_version import GroupVersionKind
from proreus.server.schema import convert_autoscaling, convert_events

JsonObject = dict[str, Any]

_CONVERSIONS: dict[tuple[str, str, str], Callable[[JsonObject], JsonObject]] = {
    ("HorizontalPodAutoscaler", "autoscaling/v1", "autoscaling/v2"): convert_autoscaling.to_v2,
    ("HorizontalPodAutoscaler", "autoscaling/v2", "autoscaling/v1"): convert_autoscaling.to_v1,
    ("Event", "v1", "events.k8s.io/v1"): convert_events.to_newer,
    ("Event", "events.k8s.io/v1", "v1"): convert_events.to_core,
}


def convert(obj: JsonObject, to: GroupVersionKind) -> JsonObject:
    """The object as ``to``. Raises KeyError for a pair of versions that has no conversion."""
    if obj["apiVersion"] == to.api_version:
        return obj
    made = _CONVERSIONS[obj["kind"], obj["apiVersion"], to.api_version](obj)
    return {**made, "kind": to.kind, "apiVersion": to.api_version}
