"""VolumeAttributesClass: attributes of volumes that can be changed after creation."""

from __future__ import annotations

from proreus.api.field_error import FieldError
from proreus.api.json_types import Json, JsonObject
from proreus.api.values import names
from proreus.server.kinds.parts.cells import age, name_of
from proreus.server.kinds.parts.class_parameters import check_parameters
from proreus.server.kinds.parts.findings import Findings
from proreus.server.resource import Cells, Lifecycle, Names, Printer, Resource, Rules


def _validate(obj: JsonObject) -> list[FieldError]:
    found = Findings()
    if found.require("driverName", obj.get("driverName")):
        found.name("driverName", obj["driverName"].lower(), names.qualified_name)
    parameters = obj.get("parameters") or {}
    check_parameters(found, "parameters", parameters)
    found.require("parameters", parameters, "must contain at least one key/value pair")
    return found


def _validate_update(new: JsonObject, old: JsonObject) -> list[FieldError]:
    found = Findings()
    for key in ("driverName", "parameters"):
        if new.get(key) != old.get(key):
            found.forbid(key, f"updates to {key} are forbidden.")
    found.extend(_validate(new))
    return found


# Kubernetes' printer has kept to the annotation's alpha name.
_DEFAULT_ANNOTATION = "volumeattributesclass.alpha.kubernetes.io/is-default-class"


def _fill(obj: Json, now: float) -> Cells:
    annotations = (obj.get("metadata") or {}).get("annotations") or {}
    is_default = annotations.get(_DEFAULT_ANNOTATION) == "true"
    name = f"{name_of(obj)} (default)" if is_default else name_of(obj)
    return [name, obj.get("driverName", ""), age(obj, now)]


RESOURCES = (
    Resource(
        names=Names.of(
            "storage.k8s.io", "v1", "VolumeAttributesClass", "volumeattributesclasses", "vac"
        ),
        namespaced=False,
        lifecycle=Lifecycle(returns_deleted=True),
        rules=Rules(
            validate=_validate,
            validate_update=_validate_update,
        ),
        printer=Printer.of(_fill, "Name", "DriverName", "Age"),
    ),
)
