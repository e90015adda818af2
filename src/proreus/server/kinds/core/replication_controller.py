"""ReplicationController: the predecessor of ReplicaSet."""

from __future__ import annotations

from proreus.api.field_error import FieldError
from proreus.api.json_types import Json, JsonObject
from proreus.server.kinds.parts import workloads
from proreus.server.kinds.parts.cells import pairs
from proreus.server.kinds.parts.findings import Findings
from proreus.server.kinds.parts.pod_template.defaults import default_pod_template
from proreus.server.kinds.parts.pod_template.spec import check_pod_template
from proreus.server.kinds.parts.pod_template.warnings import name_warnings
from proreus.server.kinds.parts.scale import SCALE
from proreus.server.kinds.parts.workload_cells import REPLICA_COLUMNS, replica_cells
from proreus.server.resource import Generation, Lifecycle, Names, Persistence, Resource, Rules
from proreus.server.resource.printer import Cells, Printer
from proreus.server.resource.selectable import at_paths


def _fill(obj: Json, now: float) -> Cells:
    spec = obj.get("spec") or {}
    return [*replica_cells(obj, now), pairs(spec.get("selector"))]


def _default(obj: JsonObject) -> None:
    spec = obj["spec"]
    template = spec.get("template")
    labels = ((template or {}).get("metadata") or {}).get("labels")
    if labels:
        if not spec.get("selector"):
            spec["selector"] = dict(labels)
        if not obj["metadata"].get("labels"):
            obj["metadata"]["labels"] = dict(labels)
    spec.setdefault("replicas", 1)
    if template is not None:
        default_pod_template(template)


def _validate(obj: JsonObject) -> list[FieldError]:
    found, spec = Findings(), obj["spec"]
    found.not_negative("spec.minReadySeconds", spec.get("minReadySeconds"))
    found.require("spec.selector", spec.get("selector"))
    found.not_negative("spec.replicas", spec.get("replicas"))
    template = spec.get("template")
    if template is None:
        found.require("spec.template", None)
        return found
    selector = {"matchLabels": spec.get("selector") or {}}
    if spec.get("selector"):
        workloads.check_match(found, "spec.template", selector, template)
    check_pod_template(found, "spec.template", template)
    if (spec.get("replicas") or 0) >= 0:
        workloads.check_always_restarts(found, "spec.template", template, "ReplicationController")
    return found


RESOURCES = (
    Resource(
        names=Names.of(
            "", "v1", "ReplicationController", "replicationcontrollers", "rc", categories=("all",)
        ),
        namespaced=True,
        subresources=(SCALE,),
        has_status=True,
        persistence=Persistence(prefix="controllers"),
        lifecycle=Lifecycle(generation=Generation(), default_propagation="Orphan"),
        selectable=at_paths("status.replicas", absent=0),
        rules=Rules(
            default=_default,
            validate=_validate,
            validate_status=workloads.replica_status,
            warnings=workloads.template_warnings,
            warnings_on_create=name_warnings,
            warns_of_changes=True,
        ),
        printer=Printer.of(_fill, *REPLICA_COLUMNS),
    ),
)
