"""VolumeAttributesClass: attributes of volumes that can be changed after creation."""

from __future__ import annotations

from proreus.api.field_error import FieldError
from proreus.api.json_types import Json, JsonObject
from proreus.server.kinds.parts.cells import age, name_of
from proreus.server.kinds.parts.findings import Findings
from proreus.server.kinds.parts.pod_template.volumes import check_driver
from proreus.server.resource import Cells, Lifecycle, Names, Printer, Resource, Rules


def _validate(obj: JsonObject) -> list[FieldError]:
    found = Findings()
    check_driver(found, "driverName", obj.get("driverName") or "")
    found.require("parameters", obj.get("parameters"), "must contain at least one key/value pair")
    return found


def _validate_update(new: JsonObject, old: JsonObject) -> list[FieldError]:
    found = Findings()
    found.unchanged(new, old, "driverName", "parameters")
    return found


def _fill(obj: Json, now: float) -> Cells:
    return [name_of(obj), obj.get("driverName", ""), age(obj, now)]


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
