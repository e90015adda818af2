"""What ``/ephemeralcontainers`` and ``/resize`` may change of a pod."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from proreus.api.field_error import FieldError
from proreus.api.json_types import Json, JsonObject
from proreus.api.pod_qos import qos_class
from proreus.server.kinds.parts.findings import Findings, items
from proreus.server.kinds.parts.pod_template.containers import check_container, check_image_of_pod
from proreus.server.kinds.parts.pod_template.spec import check_pod_spec
from proreus.server.resource import PartialUpdate
from proreus.server.resource.restore import restore, restore_content, restore_metadata

_EPHEMERAL = "cannot be set for an Ephemeral Container"
_NOT_EPHEMERAL = ("ports", "resources", "resizePolicy", "restartPolicy", "restartPolicyRules",
                  "livenessProbe", "readinessProbe", "startupProbe", "lifecycle")  # fmt: skip
_SIZES = ("cpu", "memory")


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


def _check_ephemeral_containers(found: Findings, spec: Json, volumes: Mapping[str, Json]) -> None:
    """Of a pod: a template has none."""
    others = {
        c.get("name") for key in ("containers", "initContainers") for c in spec.get(key) or ()
    }
    seen = set(others)
    for where, container in items(spec.get("ephemeralContainers"), "spec.ephemeralContainers"):
        check_container(found, where, container, spec, volumes)
        check_image_of_pod(found, f"{where}.image", container.get("image") or "")
        name, target = container.get("name"), container.get("targetContainerName")
        if name in seen:
            found.duplicate(f"{where}.name", name)
        seen.add(name)
        if target and target not in others:
            found.not_found(f"{where}.targetContainerName", target)
        for key in _NOT_EPHEMERAL:
            if container.get(key):
                found.forbid(f"{where}.{key}", _EPHEMERAL)
        for place, mount in items(container.get("volumeMounts"), f"{where}.volumeMounts"):
            for key in ("subPath", "subPathExpr"):
                if mount.get(key):
                    found.forbid(f"{place}.{key}", _EPHEMERAL)


def _validate_ephemeral_containers(new: JsonObject, old: JsonObject) -> list[FieldError]:
    """They may be added, and never change again."""
    found, at = Findings(), "spec.ephemeralContainers"
    check_pod_spec(found, "spec", new["spec"])
    volumes = {volume["name"]: volume for volume in new["spec"].get("volumes") or ()}
    _check_ephemeral_containers(found, new["spec"], volumes)
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
    check_pod_spec(found, "spec", new["spec"])
    if found:
        return found  # a change to an invalid pod is not checked further
    for key in ("containers", "initContainers"):
        pairs = zip(new["spec"].get(key) or (), old["spec"].get(key) or (), strict=True)
        for index, (container, before) in enumerate(pairs):
            _check_resources(found, f"spec.{key}[{index}].resources", container, before)
    wanted = qos_class(new["spec"])
    if wanted != qos_class(old["spec"]):
        found.invalid("spec", wanted, "Pod QOS Class may not change as a result of resizing")
    return found


def _check_resources(found: Findings, at: str, container: Json, before: Json) -> None:
    resources, had = container.get("resources") or {}, before.get("resources") or {}
    for key in ("requests", "limits"):
        now, then = resources.get(key) or {}, had.get(key) or {}
        if any(name not in now for name in then):
            found.forbid(f"{at}.{key}", f"resource {key} cannot be removed")
        if _others(now) != _others(then):
            found.forbid("spec", "only cpu and memory resources are mutable")


def _others(amounts: Json) -> dict[str, Any]:
    return {name: amount for name, amount in amounts.items() if name not in _SIZES}


EPHEMERAL_CONTAINERS = PartialUpdate(
    reset=_reset_for_ephemeral_containers, validate=_validate_ephemeral_containers, counts=True
)
RESIZE = PartialUpdate(reset=_reset_for_resize, validate=_validate_resize, counts=True)
