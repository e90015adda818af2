"""``/scale``: the size of a workload, the same for every kind that has one (server.md §6.2)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from proreus.api import field_error
from proreus.api.group_version import GroupKind, GroupResource, GroupVersionKind
from proreus.api.json_types import JsonObject
from proreus.api.patch import managed_fields
from proreus.api.patch.scale_owners import owners_in_object, owners_in_scale
from proreus.api.selectors.errors import SelectorError
from proreus.api.selectors.labels import LabelSelector
from proreus.api.status import Conflict, Invalid
from proreus.lazy_dataclass import dataclass
from proreus.server.registry import metadata
from proreus.server.registry.tracking import track_part
from proreus.server.registry.verbs.update import AdmittedPart, Modification, Update
from proreus.server.registry.write import Write
from proreus.server.resource import Resource
from proreus.server.resource.custom import Scaling

SCALE = GroupVersionKind("autoscaling", "v1", "Scale")
_COPIED = ("name", "namespace", "uid", "resourceVersion", "creationTimestamp")


def rescaling(write: Write, modification: Modification, *, is_apply: bool = False) -> Update:
    """A workload gets the size that the modification gives its Scale.

    ``is_apply``: the modification names the owners of the Scale's fields already.
    """
    resource = write.collection.resource
    scaling = _scaling(resource)

    def put(obj: JsonObject, scale: JsonObject) -> JsonObject:
        return scaling.scaled(obj, scale, resource.group_resource, write.name)

    part = AdmittedPart(SCALE, scaling.lenient, put)
    return Update(write, RescaledObject(modification, is_apply=is_apply), part=part, tracks=False)


def scale_of(resource: Resource, obj: Mapping[str, Any]) -> JsonObject:
    return _scaling(resource).of(obj)


def _scaling(resource: Resource) -> Scaling:
    return (resource.custom and resource.custom.scaling) or _REPLICAS


@dataclass(frozen=True, slots=True)
class RescaledObject:
    """The modification of an object through its Scale."""

    modification: Modification
    is_apply: bool

    async def modify(self, write: Write, live: JsonObject | None) -> JsonObject:
        assert live is not None, "scale never creates"
        resource = write.collection.resource
        scaling = _scaling(resource)
        if resource.custom:
            # A kube-apiserver does not know the type of a custom kind's Scale, and tracks nothing.
            scale = await self.modification.modify(write, scaling.lenient(live))
            return scaling.scaled(live, scale, resource.group_resource, write.name)
        versions = frozenset((resource.api_version,))
        owners = managed_fields.decode(managed_fields.entries_of(live), stored=True)
        before = managed_fields.with_owners(
            scaling.lenient(live), owners_in_scale(owners, versions)
        )
        scale = await self.modification.modify(write, before)
        if not self.is_apply:
            track_part(write, before, scale, SCALE)
        in_scale = managed_fields.decode(managed_fields.entries_of(scale), stored=True)
        after = owners_in_object(owners, in_scale, resource.api_version, versions)
        scaled = scaling.scaled(live, scale, resource.group_resource, write.name)
        return managed_fields.with_owners(scaled, after)


class _Replicas:
    """The size of built-in kinds: ``spec.replicas``."""

    def of(self, obj: Mapping[str, Any]) -> JsonObject:
        spec, status = obj.get("spec") or {}, obj.get("status") or {}
        selector = _selector(spec.get("selector"))
        return scale_object(obj, spec.get("replicas"), status.get("replicas"), selector)

    lenient = of

    def scaled(
        self, live: JsonObject, scale: JsonObject, resource: GroupResource, name: str
    ) -> JsonObject:
        """The object at the wanted size. Raises Invalid, and Conflict for another object's uid."""
        replicas = (scale.get("spec") or {}).get("replicas") or 0
        if replicas < 0:
            rule = field_error.invalid(
                "spec.replicas", replicas, "must be greater than or equal to 0"
            )
            raise Invalid.of(GroupKind("autoscaling", "Scale"), name, [rule])
        part = GroupResource(resource.group, f"{resource.resource}/scale")
        meta = {**live["metadata"], "resourceVersion": wanted_version(live, scale, part, name)}
        spec = {**(live.get("spec") or {}), "replicas": replicas}
        return {**live, "metadata": meta, "spec": spec}


_REPLICAS = _Replicas()


def scale_object(obj: Mapping[str, Any], wanted: Any, present: Any, selector: Any) -> JsonObject:
    """The Scale of an object. A wanted size of zero is left out, as Go leaves it out."""
    scale: JsonObject = {
        "kind": SCALE.kind,
        "apiVersion": SCALE.api_version,
        "metadata": {name: obj["metadata"][name] for name in _COPIED if name in obj["metadata"]},
        "spec": {"replicas": wanted} if wanted else {},
        "status": {"replicas": present or 0},
    }
    if selector:
        scale["status"]["selector"] = selector
    return scale


def wanted_version(live: JsonObject, scale: JsonObject, resource: GroupResource, name: str) -> str:
    """The resourceVersion a Scale names, or "". Raises Conflict for another object's uid."""
    wanted = metadata.ensure(scale)
    uid, present = wanted.get("uid"), live["metadata"].get("uid")
    if uid and uid != present:
        why = f"Precondition failed: UID in precondition: {uid}, UID in object meta: {present}"
        raise Conflict.of(resource, name, why)
    return wanted.get("resourceVersion") or ""


def _selector(selector: Any) -> str:
    if not isinstance(selector, dict):
        return ""
    if "matchLabels" not in selector and "matchExpressions" not in selector:
        return ",".join(f"{key}={selector[key]}" for key in sorted(selector))
    try:
        return str(LabelSelector.from_object(selector))
    except SelectorError:
        return ""
