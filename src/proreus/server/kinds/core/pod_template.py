"""PodTemplate: a pod template on its own."""

from __future__ import annotations

from proreus.api.field_error import FieldError
from proreus.api.json_types import Json, JsonObject
from proreus.server.kinds.parts.cells import name_of, pairs
from proreus.server.kinds.parts.findings import Findings
from proreus.server.kinds.parts.pod_template.defaults import default_pod_template
from proreus.server.kinds.parts.pod_template.spec import check_pod_template
from proreus.server.kinds.parts.pod_template.warnings import pod_warnings
from proreus.server.kinds.parts.workload_cells import container_cells
from proreus.server.resource import Generation, Lifecycle, Names, Resource, Rules
from proreus.server.resource.printer import Cells, Printer


def _default(obj: JsonObject) -> None:
    default_pod_template(obj.setdefault("template", {}))


def _validate(obj: JsonObject) -> list[FieldError]:
    found = Findings()
    check_pod_template(found, "template", obj["template"])
    return found


def _fill(obj: Json, _: float) -> Cells:
    template = obj.get("template") or {}
    labels = (template.get("metadata") or {}).get("labels")
    return [name_of(obj), *container_cells(template.get("spec") or {}), pairs(labels)]


RESOURCES = (
    Resource(
        names=Names.of("", "v1", "PodTemplate", "podtemplates"),
        namespaced=True,
        lifecycle=Lifecycle(generation=Generation(), returns_deleted=True),
        rules=Rules(
            default=_default,
            validate=_validate,
            warnings=lambda obj: pod_warnings(obj["template"], "template"),
        ),
        printer=Printer.of(_fill, "Name", "Containers", "Images", "Pod Labels"),
    ),
)
