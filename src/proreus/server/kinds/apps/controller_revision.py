"""ControllerRevision: an earlier template of a StatefulSet or DaemonSet."""

from __future__ import annotations

from proreus.api.field_error import FieldError
from proreus.api.group_version import GroupVersion
from proreus.api.json_types import Json, JsonObject
from proreus.server.kinds.parts.cells import NONE, age, name_of, number
from proreus.server.kinds.parts.findings import Findings
from proreus.server.resource import Cells, Names, Printer, Resource, Rules


def _validate(obj: JsonObject) -> list[FieldError]:
    found = Findings()
    content = obj.get("data")
    if content is None:
        found.require("data", None, "data is mandatory")
    elif not isinstance(content, dict):
        found.require("data", None, "data must be a valid JSON object")
    found.not_negative("revision", obj.get("revision"))
    return found


def _fill(obj: Json, now: float) -> Cells:
    owners = (obj.get("metadata") or {}).get("ownerReferences") or ()
    controller = next((owner for owner in owners if owner.get("controller")), None)
    text = NONE if controller is None else _resource_name(controller)
    return [name_of(obj), text, number(obj.get("revision")), age(obj, now)]


def _resource_name(owner: Json) -> str:
    group = GroupVersion.parse(owner.get("apiVersion", "")).group
    kind = str(owner.get("kind", "")).lower()
    return f"{kind}.{group}/{owner.get('name')}" if group else f"{kind}/{owner.get('name')}"


RESOURCES = (
    Resource(
        names=Names.of("apps", "v1", "ControllerRevision", "controllerrevisions"),
        namespaced=True,
        rules=Rules(validate=_validate, immutable=("data",)),
        printer=Printer.of(_fill, "Name", "Controller", "Revision", "Age"),
    ),
)
