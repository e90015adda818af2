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
_PARTS = ("requests", "limits")
_LISTS = ("containers", "initContainers")
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
    """Only resources, of the pod and of its containers; other containers are left to be refused."""
    wanted = _take_spec(new, old)
    spec = new["spec"]
    if any(len(wanted.get(key) or ()) != len(spec.get(key) or ()) for key in _LISTS):
        new["spec"] = {**wanted}
        return
    restore(spec, wanted, "resources")
    for key in _LISTS:
        if key in spec:
            spec[key] = _resized(spec[key], wanted.get(key) or [])


def _resized(containers: list[JsonObject], wanted: list[JsonObject]) -> list[JsonObject]:
    if [one.get("name") for one in containers] != [one.get("name") for one in wanted]:
        return wanted
    changed = [{**one} for one in containers]
    for one, other in zip(changed, wanted, strict=True):
        for field in ("resources", "resizePolicy"):
            restore(one, other, field)
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
    was = (old.get("status") or {}).get("qosClass") or qos_class(old["spec"])
    if qos_class(new["spec"]) != was:
        found.invalid("spec", was, "Pod QOS Class may not change as a result of resizing")
    if not _node_can_resize(old.get("status") or {}):
        found.forbid("spec", "Pod running on node without support for resize")
    _check_pod_level(found, new["spec"], old["spec"])
    if not _check_order(found, new["spec"], old["spec"]):
        return
    pairs = {key: list(_pairs(new, old, key)) for key in _LISTS}
    for key in reversed(_LISTS):
        for where, now, then in pairs[key]:
            _check_removed(found, f"{where}.resources", now, then)
    for _, now, then in pairs["containers"]:
        if _fixed(now, then) != then:
            found.forbid("spec", "only cpu and memory resources are mutable")
    for where, now, then in pairs["initContainers"]:
        _check_init_container(found, where, now, then)


def _check_pod_level(found: Findings, spec: Json, before: Json) -> None:
    now, then = spec.get("resources"), before.get("resources")
    if not any((each or {}).get(part) for each in (now, then) for part in _PARTS):
        return
    if now is None:
        found.forbid("spec.resources", "pod-level resources cannot be removed")
        return
    for part in _PARTS:
        if _lacks(now.get(part), (then or {}).get(part)):
            why = f"pod-level resource {part} cannot be removed"
            found.forbid(f"spec.resources.{part}", why)
    if _fixed({"resources": now}, {"resources": then or {}}) != {"resources": then or {}}:
        found.forbid("spec", "only cpu and memory resources are mutable at pod-level")


def _check_order(found: Findings, spec: Json, before: Json) -> bool:
    """Whether the containers are those that were."""
    faults = len(found)
    for key in _LISTS:
        now = [one.get("name") for one in spec.get(key) or ()]
        then = [one.get("name") for one in before.get(key) or ()]
        if len(now) != len(then):
            found.forbid(f"spec.{key}", f"{key} may not be added or removed on resize")
            continue
        for index, (name, was) in enumerate(zip(now, then, strict=True)):
            if name != was:
                why = f"{key} may not be renamed or reordered on resize"
                found.forbid(f"spec.{key}[{index}].name", why)
    return len(found) == faults


def _check_init_container(found: Findings, at: str, now: Json, then: Json) -> None:
    if _fixed(now, then) != then:
        why = "only cpu and memory resources for init or sidecar containers are mutable"
        found.forbid(at, why)
    restarts = any(
        policy.get("restartPolicy") == "RestartContainer"
        for policy in now.get("resizePolicy") or ()
    )
    if now != then and now.get("restartPolicy") != "Always" and restarts:
        why = (
            "non-sidecar init containers with a resize policy of RestartContainer cannot be resized"
        )
        found.forbid(at, why)


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
        yield f"spec.{key}[{index}]", now, then


def _check_removed(found: Findings, at: str, container: Json, before: Json) -> None:
    resources, had = container.get("resources") or {}, before.get("resources") or {}
    for part in _PARTS:
        if _lacks(resources.get(part), had.get(part)):
            found.forbid(f"{at}.{part}", f"resource {part} cannot be removed")


def _lacks(now: Json | None, then: Json | None) -> bool:
    return any(name not in (now or {}) for name in then or ())


def _fixed(holder: Json, before: Json) -> dict[str, Any]:
    """All of it, with the sizes that it had before."""
    had = before.get("resources") or {}
    fixed: dict[str, Any] = {**(holder.get("resources") or {})}
    for part in _PARTS:
        then = had.get(part) or {}
        others = {k: v for k, v in (fixed.pop(part, None) or {}).items() if k not in _SIZES}
        if others or part in had:
            fixed[part] = others | {name: then[name] for name in _SIZES if name in then}
    return {**holder, "resources": fixed}


EPHEMERAL_CONTAINERS = PartialUpdate(
    reset=_reset_for_ephemeral_containers, validate=_validate_ephemeral_containers, counts=True
)
RESIZE = PartialUpdate(reset=_reset_for_resize, validate=_validate_resize, counts=True)
