"""``/scale``: the size of a workload, the same for every kind that has one (spec/server §6.2)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from proreus.api import field_error
from proreus.api.group_version import GroupKind, GroupResource, GroupVersionKind
from proreus.api.selectors.errors import SelectorError
from proreus.api.selectors.labels import LabelSelector
from proreus.api.status import Conflict, Invalid
from proreus.server.registry import metadata
from proreus.server.schema.rules import JsonObject

SCALE = GroupVersionKind("autoscaling", "v1", "Scale")
_SHOWN = ("name", "namespace", "uid", "resourceVersion", "creationTimestamp")


def scale_of(obj: Mapping[str, Any]) -> JsonObject:
    """What ``/scale`` shows of an object. A size of zero is left out, as Go leaves it out."""
    meta = {name: obj["metadata"][name] for name in _SHOWN if name in obj["metadata"]}
    spec, status = obj.get("spec") or {}, obj.get("status") or {}
    replicas = spec.get("replicas") or 0
    shown: JsonObject = {
        "kind": SCALE.kind,
        "apiVersion": SCALE.api_version,
        "metadata": meta,
        "spec": {"replicas": replicas} if replicas else {},
        "status": {"replicas": status.get("replicas") or 0},
    }
    if selector := _selector(spec.get("selector")):
        shown["status"]["selector"] = selector
    return shown


def scaled(live: JsonObject, scale: JsonObject, resource: GroupResource, name: str) -> JsonObject:
    """The object at the wanted size. Raises Invalid, and Conflict for another object's uid."""
    replicas = (scale.get("spec") or {}).get("replicas") or 0
    if replicas < 0:
        rule = field_error.invalid("spec.replicas", replicas, "must be greater than or equal to 0")
        raise Invalid.of(GroupKind("autoscaling", "Scale"), name, [rule])
    wanted = metadata.of(scale)
    uid, present = wanted.get("uid"), live["metadata"].get("uid")
    if uid and uid != present:
        raise Conflict.of(
            resource,
            name,
            f"Precondition failed: UID in precondition: {uid}, UID in object meta: {present}",
        )
    meta = {**live["metadata"], "resourceVersion": wanted.get("resourceVersion") or ""}
    spec = {**(live.get("spec") or {}), "replicas": replicas}
    return {**live, "metadata": meta, "spec": spec}


def _selector(selector: Any) -> str:
    if not isinstance(selector, dict):
        return ""
    if "matchLabels" not in selector and "matchExpressions" not in selector:
        return ",".join(f"{key}={selector[key]}" for key in sorted(selector))
    try:
        return str(LabelSelector.from_object(selector))
    except SelectorError:
        return ""
