"""What ``/ephemeralcontainers`` and ``/resize`` may change of a pod."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from proreus.api.field_error import FieldError
from proreus.api.json_types import Json, JsonObject
from proreus.api.pod_qos import qos_class
from proreus.server.kinds.parts.findings import Findings
from proreus.server.kinds.parts.pod_template.pod_annotations import MIRROR
from proreus.server.kinds.parts.pod_template.spec import check_pod_spec
from proreus.server.resource import PartialUpdate
from proreus.server.resource.restore import restore, restore_content, restore_metadata

_SIZES = ("cpu", "memory")
_WHOLE = "[]"  # how Kubernetes prints the path of the object itself


def _take_spec(new: JsonObject, old: JsonObject) -> JsonObject:
    """Make the new object equal to the old one, with a spec of its own; the spec it had."""
    restore_metadata(new, old)
    wanted: JsonObject = new.get("spec") or {}
    restore_content(new, old)
    new["spec"] = {**(old.get("spec") or {})}
    return wanted


def _reset_for_ephemeral_containers(new: JsonObject, old: JsonObject) -> None:
    wanted = _take_spec(new, old)
    restore(new["spec"], wanted, "ephemeralContainers")


def _reset_for_resize(new: JsonObject, old: JsonObject) -> None:
    """Only the resources of containers that are there."""
    wanted = _take_spec(new, old)
    for field in ("containers", "initContainers"):
        by_name = {c.get("name"): c for c in wanted.get(field) or ()}
        if field in new["spec"]:
            new["spec"][field] = [
                _resized(container, by_name.get(container.get("name")))
                for container in new["spec"][field]
            ]


def _resized(container: JsonObject, wanted: JsonObject | None) -> JsonObject:
    if wanted is None:
        return container
    changed = {**container}
    for field in ("resources", "resizePolicy"):
        restore(changed, wanted, field)
    return changed


def _validate_ephemeral_containers(new: JsonObject, old: JsonObject) -> list[FieldError]:
    """They may be added, and never change again."""
    found, at = Findings(), "spec.ephemeralContainers"
    if MIRROR in (old["metadata"].get("annotations") or {}):
        found.forbid(_WHOLE, "static pods do not support ephemeral containers")
        return found
    check_pod_spec(found, "spec", new["spec"])
    now = {c.get("name"): c for c in new["spec"].get("ephemeralContainers") or ()}
    for before in old["spec"].get("ephemeralContainers") or ():
        name = before.get("name")
        if name not in now:
            found.forbid(at, f'existing ephemeral containers "{name}" may not be removed\n')
        elif now[name] != before:
            found.forbid(at, f'existing ephemeral containers "{name}" may not be changed\n')
    return found


def _validate_resize(new: JsonObject, old: JsonObject) -> list[FieldError]:
    found = Findings()
    if MIRROR in (old["metadata"].get("annotations") or {}):
        found.forbid(_WHOLE, "static pods cannot be resized")
        return found
    if (old["spec"].get("os") or {}).get("name") == "windows":
        found.forbid(_WHOLE, "windows pods cannot be resized")
        return found
    check_pod_spec(found, "spec", new["spec"])
    if found:
        return found  # a change to an invalid pod is not checked further
    _check_resize(found, new, old)
    return found


def _check_resize(found: Findings, new: JsonObject, old: JsonObject) -> None:
    if qos_class(new["spec"]) != qos_class(old["spec"]):
        was = (old.get("status") or {}).get("qosClass") or ""
        found.invalid("spec", was, "Pod QOS Class may not change as a result of resizing")
    if not _node_can_resize(old.get("status") or {}):
        found.forbid("spec", "Pod running on node without support for resize")
    sidecars = list(_pairs(new, old, "initContainers"))
    containers = list(_pairs(new, old, "containers"))
    for where, now, then in (*(each for each in sidecars if _is_sidecar(each[1])), *containers):
        _check_removed(found, where, now, then)
    for _, now, then in containers:
        if _fixed(now) != _fixed(then):
            found.forbid("spec", "only cpu and memory resources are mutable")
    for _, now, then in sidecars:
        if not _is_sidecar(now):
            if now != then:
                why = "resources for non-sidecar init containers are immutable"
                found.forbid("spec", why)
        elif _fixed(now) != _fixed(then):
            why = "only cpu and memory resources for sidecar containers are mutable"
            found.forbid("spec", why)


def _node_can_resize(status: Json) -> bool:
    """A node that can says what its running containers have."""
    for entry in status.get("containerStatuses") or ():
        if (entry.get("state") or {}).get("running") is not None:
            return entry.get("resources") is not None
    return True


def _pairs(new: Json, old: Json, key: str) -> Iterator[tuple[str, Json, Json]]:
    """Each container with its path, now and as it was."""
    pairs = zip(new["spec"].get(key) or (), old["spec"].get(key) or (), strict=True)
    for index, (now, then) in enumerate(pairs):
        yield f"spec.{key}[{index}].resources", now, then


def _is_sidecar(container: Json) -> bool:
    return container.get("restartPolicy") == "Always"


def _check_removed(found: Findings, at: str, container: Json, before: Json) -> None:
    resources, had = container.get("resources") or {}, before.get("resources") or {}
    for key in ("requests", "limits"):
        now, then = resources.get(key) or {}, had.get(key) or {}
        if any(name not in now for name in then):
            found.forbid(f"{at}.{key}", f"resource {key} cannot be removed")


def _fixed(container: Json) -> dict[str, Any]:
    """All of it but the sizes; no requests at all become some only together with sizes."""
    resources = container.get("resources") or {}
    rest = {
        key: {name: amount for name, amount in amounts.items() if name not in _SIZES}
        for key in ("requests", "limits")
        if (amounts := resources.get(key))
    }
    return {
        **container,
        "resources": {key: amounts for key, amounts in rest.items() if amounts},
    }


EPHEMERAL_CONTAINERS = PartialUpdate(
    reset=_reset_for_ephemeral_containers, validate=_validate_ephemeral_containers, counts=True
)
RESIZE = PartialUpdate(reset=_reset_for_resize, validate=_validate_resize, counts=True)
