"""PersistentVolumeClaim: a request for storage."""

from __future__ import annotations

from copy import deepcopy
from math import floor
from typing import Any

from proreus.api.field_error import FieldError
from proreus.api.json_types import Json, JsonObject
from proreus.api.values import names, quantity
from proreus.server.kinds.parts.cells import UNSET, age, name_of
from proreus.server.kinds.parts.claims import check_claim_spec
from proreus.server.kinds.parts.findings import IMMUTABLE, Findings
from proreus.server.kinds.parts.pod_template.volume_warnings import BETA_CLASS, claim_warnings
from proreus.server.kinds.parts.resources import is_native
from proreus.server.kinds.parts.volume_cells import access_modes, class_name, phase
from proreus.server.resource import Cells, Lifecycle, Names, Printer, Resource, Rules

_CLASS_OF_ATTRIBUTES = "spec.volumeAttributesClassName"
_NOT_A_SIZE = "must be a valid resource quantity"
_RESIZES = ("ControllerResizeInProgress", "ControllerResizeInfeasible", "NodeResizeInProgress",
            "NodeResizeInfeasible", "NodeResizePending")  # fmt: skip
_FIXED = (
    "spec is immutable after creation except resources.requests and volumeAttributesClassName for "
    "bound claims"
)


def _default(obj: JsonObject) -> None:
    obj["spec"].setdefault("volumeMode", "Filesystem")
    obj.setdefault("status", {}).setdefault("phase", "Pending")


def _prepare(obj: JsonObject) -> None:
    obj["status"] = {"phase": "Pending"}
    _drop_unknown_source(obj["spec"])
    _name_source_twice(obj["spec"])


def _prepare_update(new: JsonObject, old: JsonObject) -> None:
    """A client that knows the older field alone may write back what it has read."""
    if old["spec"].get("dataSource") is None and old["spec"].get("dataSourceRef") is None:
        _drop_unknown_source(new["spec"])
    _name_source_twice(new["spec"])


def _drop_unknown_source(spec: JsonObject) -> None:
    source = spec.get("dataSource")
    if source is not None and spec.get("dataSourceRef") is None and not _is_known_source(source):
        spec.pop("dataSource")


def _name_source_twice(spec: JsonObject) -> None:
    """The two fields are the old and the new name of one thing, unless a namespace is given."""
    source, reference = spec.get("dataSource"), spec.get("dataSourceRef")
    if source is not None and reference is None:
        spec["dataSourceRef"] = dict(source)
    elif reference is not None and source is None and not reference.get("namespace"):
        spec["dataSource"] = dict(reference)


def _is_known_source(source: Json) -> bool:
    pair = (source.get("apiGroup") or "", source.get("kind"))
    return pair in (("", "PersistentVolumeClaim"), ("snapshot.storage.k8s.io", "VolumeSnapshot"))


def _validate(obj: JsonObject) -> list[FieldError]:
    found = Findings()
    check_claim_spec(found, "spec", obj["spec"])
    return found


def _validate_update(new: JsonObject, old: JsonObject) -> list[FieldError]:
    found = Findings(_validate(new))
    spec, before = new["spec"], old["spec"]
    _check_old_class(found, new, old)
    if _comparable(new, old) != {**before, "volumeName": _volume(spec, before)}:
        found.forbid("spec", _FIXED)
    size, had = _size(spec), _size(before)
    capacity = ((old.get("status") or {}).get("capacity") or {}).get("storage")
    if size < had and size <= quantity.amount(capacity):
        why = "field can not be less than status.capacity"
        found.forbid("spec.resources.requests.storage", why)
    found.unchanged(spec, before, "volumeMode")
    _check_attributes(found, spec, before)
    return found


def _size(spec: Json) -> Any:
    return quantity.amount(((spec.get("resources") or {}).get("requests") or {}).get("storage"))


def _volume(spec: Json, before: Json) -> str:
    """The volume name may be set once."""
    name: str = before.get("volumeName") or spec.get("volumeName") or ""
    return name


def _comparable(new: JsonObject, old: JsonObject) -> JsonObject:
    """The new spec with the old values of all mutable fields."""
    spec: JsonObject = deepcopy(new["spec"])
    before = old["spec"]
    spec["volumeName"] = spec.get("volumeName") or ""
    if (old.get("status") or {}).get("phase") == "Bound":
        requests = (spec.get("resources") or {}).get("requests")
        had = ((before.get("resources") or {}).get("requests") or {}).get("storage")
        if requests is not None and had is not None:
            requests["storage"] = had
        if spec.pop("volumeAttributesClassName", None) is not None and (
            had_class := before.get("volumeAttributesClassName")
        ):
            spec["volumeAttributesClassName"] = had_class
    annotated = (old["metadata"].get("annotations") or {}).get(BETA_CLASS)
    if before.get("storageClassName") is None and annotated in (None, spec.get("storageClassName")):
        spec.pop("storageClassName", None)  # a claim without a class may be given one later
    return spec


def _check_old_class(found: Findings, new: Json, old: Json) -> None:
    now = (new["metadata"].get("annotations") or {}).get(BETA_CLASS)
    then = (old["metadata"].get("annotations") or {}).get(BETA_CLASS)
    name = new["spec"].get("storageClassName")
    moves = then is not None and old["spec"].get("storageClassName") is None and name == then
    if (now or "") != (then or "") and not (moves and now is None):
        found.invalid(f"metadata.annotations.{BETA_CLASS}", now or "", IMMUTABLE)


def _check_attributes(found: Findings, spec: Json, before: Json) -> None:
    name, was = spec.get("volumeAttributesClassName"), before.get("volumeAttributesClassName")
    if was is None or name == was:
        return
    if name is None:
        found.forbid(_CLASS_OF_ATTRIBUTES, "update from non-nil value to nil is forbidden")
    elif not name:
        why = "update from non-nil value to an empty string is forbidden"
        found.forbid(_CLASS_OF_ATTRIBUTES, why)


def _validate_status(new: JsonObject, _: JsonObject) -> list[FieldError]:
    found, capacity = Findings(), (new.get("status") or {}).get("capacity") or {}
    for name in sorted(capacity):
        if (value := floor(quantity.amount(capacity[name]))) < 0:
            found.invalid(f"status.capacity[{name}]", value, _NOT_A_SIZE)
    _check_resizes(found, new.get("status") or {})
    return found


def _check_resizes(found: Findings, status: Json) -> None:
    at, resizes = "status.allocatedResourceStatus", status.get("allocatedResourceStatuses") or {}
    for name in sorted(resizes):
        _check_resource(found, at, name)
        if resizes[name] not in _RESIZES:
            # The name of the resource is printed, not its state; so does Kubernetes.
            found.one_of(at, name, _RESIZES)
    at, amounts = "status.allocatedResources", status.get("allocatedResources") or {}
    for name in sorted(amounts):
        if not _check_resource(found, at, name):
            continue
        if (value := floor(quantity.amount(amounts[name]))) < 0:
            found.invalid(f"{at}[{name}]", value, _NOT_A_SIZE)


def _check_resource(found: Findings, at: str, name: str) -> bool:
    before = len(found)
    found.name(at, name, names.qualified_name)
    if len(found) == before and is_native(name):
        found.one_of(at, name, ("storage",))
    return len(found) == before


def _fill(obj: Json, now: float) -> Cells:
    spec, status = obj.get("spec") or {}, obj.get("status") or {}
    capacity, modes = "", ""
    if spec.get("volumeName"):
        capacity = str((status.get("capacity") or {}).get("storage", "0"))
        modes = access_modes(status.get("accessModes"))
    return [
        name_of(obj),
        phase(obj),
        spec.get("volumeName", ""),
        capacity,
        modes,
        class_name(obj),
        spec.get("volumeAttributesClassName", UNSET),
        age(obj, now),
        spec.get("volumeMode") or UNSET,
    ]


_PRINTER = Printer.of(
    _fill, "Name", "Status", "Volume", "Capacity", "Access Modes", "StorageClass",
    "VolumeAttributesClass", "Age", "VolumeMode*",
)  # fmt: skip


RESOURCES = (
    Resource(
        names=Names.of("", "v1", "PersistentVolumeClaim", "persistentvolumeclaims", "pvc"),
        namespaced=True,
        has_status=True,
        lifecycle=Lifecycle(returns_deleted=True),
        rules=Rules(
            default=_default,
            prepare_create=_prepare,
            prepare_update=_prepare_update,
            validate=_validate,
            validate_update=_validate_update,
            validate_status=_validate_status,
            warnings=claim_warnings,
        ),
        printer=_PRINTER,
    ),
)
