"""Deployment: replica sets that replace each other."""

from __future__ import annotations

from proreus.api import field_error
from proreus.api.field_error import FieldError
from proreus.api.json_types import Json, JsonObject
from proreus.server.kinds.parts import workloads
from proreus.server.kinds.parts.cells import age, name_of, number, selector_or_empty
from proreus.server.kinds.parts.findings import Findings
from proreus.server.kinds.parts.pod_template.defaults import default_pod_template
from proreus.server.kinds.parts.pod_template.warnings import name_warnings
from proreus.server.kinds.parts.scale import replicated_workload
from proreus.server.kinds.parts.workload_cells import WIDE, template_cells, wanted_replicas
from proreus.server.resource import Names, Rules
from proreus.server.resource.printer import Cells, Printer
from proreus.server.resource.restore import restore


def _default(obj: JsonObject) -> None:
    spec = obj["spec"]
    spec.setdefault("replicas", 1)
    strategy = spec.setdefault("strategy", {})
    strategy.setdefault("type", "RollingUpdate")
    if strategy["type"] == "RollingUpdate":
        rolling = strategy.setdefault("rollingUpdate", {})
        rolling.setdefault("maxUnavailable", "25%")
        rolling.setdefault("maxSurge", "25%")
    spec.setdefault("revisionHistoryLimit", 10)
    spec.setdefault("progressDeadlineSeconds", 600)
    default_pod_template(spec.setdefault("template", {}))


def _validate(obj: JsonObject) -> list[FieldError]:
    found, spec = Findings(), obj["spec"]
    found.not_negative("spec.replicas", spec.get("replicas"))
    workloads.check_replicated(found, "spec", spec)
    _check_strategy(found, "spec.strategy", spec.get("strategy") or {})
    for key in ("minReadySeconds", "revisionHistoryLimit"):
        found.not_negative(f"spec.{key}", spec.get(key))
    deadline = spec.get("progressDeadlineSeconds")
    if deadline is not None:
        found.not_negative("spec.progressDeadlineSeconds", deadline)
        if deadline <= (spec.get("minReadySeconds") or 0):
            found.invalid(
                "spec.progressDeadlineSeconds", deadline, "must be greater than minReadySeconds"
            )
    return found


def _check_strategy(found: Findings, at: str, strategy: Json) -> None:
    rolling = strategy.get("rollingUpdate")
    match strategy.get("type"):
        case "Recreate":
            if rolling is not None:
                found.forbid(
                    f"{at}.rollingUpdate", "may not be specified when strategy `type` is 'Recreate'"
                )
        case "RollingUpdate":
            if rolling is None:
                found.require(
                    f"{at}.rollingUpdate", None, "this should be defaulted and never be nil"
                )
                return
            surge, unavailable = rolling.get("maxSurge"), rolling.get("maxUnavailable")
            workloads.check_share(found, f"{at}.rollingUpdate.maxUnavailable", unavailable)
            workloads.check_share(found, f"{at}.rollingUpdate.maxSurge", surge)
            if workloads.is_zero(surge) and workloads.is_zero(unavailable):
                found.invalid(
                    f"{at}.rollingUpdate.maxUnavailable",
                    unavailable,
                    "may not be 0 when `maxSurge` is 0",
                )
            workloads.check_not_over_100(found, f"{at}.rollingUpdate.maxUnavailable", unavailable)
        case _:
            printed = workloads.printed_strategy(strategy)
            found.append(field_error.not_supported(at, printed, ("Recreate", "RollingUpdate")))


def _validate_status(new: JsonObject, old: JsonObject) -> list[FieldError]:
    found, status = Findings(), new.get("status") or {}
    found.not_negative("status.observedGeneration", status.get("observedGeneration"))
    parts = ("updatedReplicas", "readyReplicas", "availableReplicas")
    workloads.check_counts(found, status, parts, "unavailableReplicas", "collisionCount")
    workloads.check_collisions(found, new, old)
    return found


def _keep_labels(new: JsonObject, old: JsonObject) -> None:
    """Through its status a deployment's labels cannot be changed."""
    restore(new["metadata"], old["metadata"], "labels")


def _fill(obj: Json, now: float) -> Cells:
    spec, status = obj.get("spec") or {}, obj.get("status") or {}
    return [
        name_of(obj),
        f"{number(status.get('readyReplicas'))}/{wanted_replicas(obj)}",
        number(status.get("updatedReplicas")),
        number(status.get("availableReplicas")),
        age(obj, now),
        *template_cells(obj),
        selector_or_empty(spec.get("selector")),
    ]


RESOURCES = (
    replicated_workload(
        names=Names.of("apps", "v1", "Deployment", "deployments", "deploy", categories=("all",)),
        counts_annotations=True,
        rules=Rules(
            default=_default,
            prepare_status=_keep_labels,
            kept_by_status=(("metadata", "labels"),),
            validate=_validate,
            immutable=("spec.selector",),
            validate_status=_validate_status,
            warnings_on_create=name_warnings,
        ),
        printer=Printer.of(_fill, "Name", "Ready", "Up-to-date", "Available", "Age", *WIDE),
    ),
)
