"""``/scale`` of a custom kind: the definition says where the numbers are."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from proreus.api import field_error
from proreus.api.group_version import GroupKind, GroupResource
from proreus.api.status import Conflict, InternalError, Invalid
from proreus.server.registry import metadata
from proreus.server.registry.subresources.scale import SCALE
from proreus.server.schema.rules import JsonObject

_SHOWN = ("name", "namespace", "uid", "resourceVersion", "creationTimestamp")


@dataclass(frozen=True, slots=True)
class CustomScale:
    """Paths are simple ones: ``.spec.replicas``."""

    kind: GroupKind
    spec_path: str
    status_path: str
    selector_path: str

    def of(self, obj: Mapping[str, Any]) -> JsonObject:
        """Raises InternalError if the object does not say how many it wants."""
        replicas = _read(obj, self.spec_path)
        if replicas is None:
            raise InternalError.of(f'the spec replicas field "{self.spec_path}" does not exist')
        shown: JsonObject = {
            "kind": SCALE.kind,
            "apiVersion": SCALE.api_version,
            "metadata": {k: obj["metadata"][k] for k in _SHOWN if k in obj["metadata"]},
            "spec": {"replicas": replicas} if replicas else {},
            "status": {"replicas": _read(obj, self.status_path) or 0},
        }
        if self.selector_path and (selector := _read(obj, self.selector_path)):
            shown["status"]["selector"] = selector
        return shown

    def lenient(self, obj: Mapping[str, Any]) -> JsonObject:
        """As a write sees it: an object without a number can be given one."""
        if _read(obj, self.spec_path) is None:
            copied = {**obj, "spec": dict(obj.get("spec") or {})}
            return self.of(_written(copied, self.spec_path, 0))
        return self.of(obj)

    def scaled(
        self, live: JsonObject, scale: JsonObject, resource: GroupResource, name: str
    ) -> JsonObject:
        """The object at the wanted size. Raises Invalid, and Conflict for another object's uid."""
        replicas = (scale.get("spec") or {}).get("replicas") or 0
        if replicas < 0:
            rule = field_error.invalid(self.spec_path, replicas, "should be a non-negative integer")
            raise Invalid.of(self.kind, name, [rule])
        wanted = metadata.of(scale)
        uid, present = wanted.get("uid"), live["metadata"].get("uid")
        if uid and uid != present:
            raise Conflict.of(
                resource,
                name,
                f"Precondition failed: UID in precondition: {uid}, UID in object meta: {present}",
            )
        version = wanted.get("resourceVersion") or live["metadata"]["resourceVersion"]
        meta = {**live["metadata"], "resourceVersion": version}
        return _written({**live, "metadata": meta}, self.spec_path, replicas)


def _read(obj: Mapping[str, Any], path: str) -> Any:
    value: Any = obj
    for key in path.strip(".").split("."):
        if not isinstance(value, dict) or key not in value:
            return None
        value = value[key]
    return value


def _written(obj: JsonObject, path: str, value: Any) -> JsonObject:
    """A copy with the value at its place; what is on the way is copied, or made."""
    first, *rest = path.strip(".").split(".")
    if not rest:
        return {**obj, first: value}
    inner = obj.get(first)
    below = inner if isinstance(inner, dict) else {}
    return {**obj, first: _written(below, ".".join(rest), value)}
