"""``/scale`` of a custom kind, by the paths of its definition."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from proreus.api import field_error, go_text
from proreus.api.field_error import FieldError
from proreus.api.group_version import GroupKind, GroupResource
from proreus.api.json_types import JsonObject
from proreus.api.status import InternalError, Invalid
from proreus.lazy_dataclass import dataclass
from proreus.server.registry.subresources.scale import scale_object, wanted_version

_INT32_MAX = 2**31 - 1


@dataclass(frozen=True, slots=True)
class ScalePaths:
    """Paths are simple ones: ``.spec.replicas``."""

    kind: GroupKind
    spec_path: str
    status_path: str
    selector_path: str

    def of(self, obj: Mapping[str, Any]) -> JsonObject:
        """Raises InternalError if the object has no replica count."""
        replicas = _read(obj, self.spec_path)
        if replicas is None:
            raise InternalError.of(f'the spec replicas field "{self.spec_path}" does not exist')
        selector = _read(obj, self.selector_path) if self.selector_path else ""
        return scale_object(obj, replicas, _read(obj, self.status_path), selector)

    def lenient(self, obj: Mapping[str, Any]) -> JsonObject:
        """As a write sees it: an object without a number can be given one."""
        if _read(obj, self.spec_path) is None:
            copied = {**obj, "spec": dict(obj.get("spec") or {})}
            return self.of(_written(copied, self.spec_path, 0))
        return self.of(obj)

    def violations(self, obj: Mapping[str, Any], *, status_only: bool = False) -> list[FieldError]:
        """Why the numbers cannot be rendered. ``status_only``: for a write of status."""
        found = [] if status_only else _number_violations(obj, self.spec_path)
        found += _number_violations(obj, self.status_path)
        if self.selector_path:
            why, _ = _accessed(obj, self.selector_path, str, "string")
            found += [field_error.invalid(self.selector_path, "", why)] if why else []
        return found

    def scaled(
        self, live: JsonObject, scale: JsonObject, resource: GroupResource, name: str
    ) -> JsonObject:
        """The object at the wanted size. Raises Invalid, and Conflict for another object's uid."""
        replicas = (scale.get("spec") or {}).get("replicas") or 0
        if replicas < 0:
            rule = field_error.invalid(self.spec_path, replicas, "should be a non-negative integer")
            raise Invalid.of(self.kind, name, [rule])
        meta = dict(live["metadata"])
        if version := wanted_version(live, scale, resource, name):
            meta["resourceVersion"] = version
        return _written({**live, "metadata": meta}, self.spec_path, replicas)


def _number_violations(obj: Mapping[str, Any], path: str) -> list[FieldError]:
    why, number = _accessed(obj, path, int, "int64")
    if why:
        return [field_error.invalid(path, 0, why)]
    if number is not None and number < 0:
        return [field_error.invalid(path, number, "should be a non-negative integer")]
    if number is not None and number > _INT32_MAX:
        text = f"should be less than or equal to {_INT32_MAX}"
        return [field_error.invalid(path, number, text)]
    return []


def _accessed(obj: Mapping[str, Any], path: str, wanted: type, name: str) -> tuple[str, Any]:
    """Why the value at a path cannot be read as what it should be, and the value if it can."""
    value: Any = obj
    keys = path.removeprefix(".").split(".")
    for depth, key in enumerate(keys):
        if value is None:
            return "", None
        if not isinstance(value, dict):
            at = ".".join(keys[: depth + 1])
            return _odd(at, value, "map[string]interface{}"), None
        if key not in value:
            return "", None
        value = value[key]
    if not isinstance(value, wanted) or isinstance(value, bool):
        return _odd(".".join(keys), value, name), None
    return "", value


def _odd(at: str, value: Any, wanted: str) -> str:
    shown = f"{go_text.plain(value)} is of the type {go_text.type_name(value)}"
    return f".{at} accessor error: {shown}, expected {wanted}"


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
