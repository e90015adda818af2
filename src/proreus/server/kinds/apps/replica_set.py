"""ReplicaSet: a number of equal pods."""

from __future__ import annotations

from proreus.api.field_error import FieldError
from proreus.api.json_types import Json, JsonObject
from proreus.server.kinds.parts import workloads
from proreus.server.kinds.parts.cells import selector
from proreus.server.kinds.parts.findings import Findings
from proreus.server.kinds.parts.pod_template.defaults import default_pod_template
from proreus.server.kinds.parts.pod_template.warnings import name_warnings
from proreus.server.kinds.parts.scale import replicated_workload
from proreus.server.kinds.parts.workload_cells import REPLICA_COLUMNS, replica_cells
from proreus.server.resource import Cells, Names, Printer, Rules


def _fill(obj: Json, now: float) -> Cells:
    spec = obj.get("spec") or {}
    return [*replica_cells(obj, now), selector(spec.get("selector"))]


def _default(obj: JsonObject) -> None:
    spec = obj["spec"]
    spec.setdefault("replicas", 1)
    default_pod_template(spec.setdefault("template", {}))


def _validate(obj: JsonObject) -> list[FieldError]:
    found, spec = Findings(), obj["spec"]
    found.not_negative("spec.replicas", spec.get("replicas"))
    found.not_negative("spec.minReadySeconds", spec.get("minReadySeconds"))
    workloads.check_replicated(found, "spec", spec)
    return found


RESOURCES = (
    replicated_workload(
        names=Names.of("apps", "v1", "ReplicaSet", "replicasets", "rs", categories=("all",)),
        rules=Rules(
            default=_default,
            validate=_validate,
            immutable=("spec.selector",),
            validate_status=workloads.replica_status,
            warnings_on_create=name_warnings,
        ),
        printer=Printer.of(_fill, *REPLICA_COLUMNS),
    ),
)
