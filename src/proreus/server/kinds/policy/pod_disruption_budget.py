"""PodDisruptionBudget: how many pods may be evicted at once."""

from __future__ import annotations

from typing import Any

from proreus.api.field_error import FieldError
from proreus.api.json_types import Json, JsonObject
from proreus.api.values import names
from proreus.server.kinds.parts.cells import age, name_of, number
from proreus.server.kinds.parts.conditions import check_conditions
from proreus.server.kinds.parts.findings import Findings
from proreus.server.kinds.parts.label_selectors import check_selector
from proreus.server.kinds.parts.workloads import check_not_over_100, check_share
from proreus.server.resource import Generation, Lifecycle, Names, Resource, Rules
from proreus.server.resource.printer import Cells, Printer


def _validate(obj: JsonObject) -> list[FieldError]:
    found, spec = Findings(), obj["spec"]
    least, most = spec.get("minAvailable"), spec.get("maxUnavailable")
    if least is not None and most is not None:
        printed = {
            "MinAvailable": least,
            "Selector": spec.get("selector"),
            "MaxUnavailable": most,
            "UnhealthyPodEvictionPolicy": spec.get("unhealthyPodEvictionPolicy"),
        }
        found.invalid("spec", printed, "minAvailable and maxUnavailable cannot be both set")
    for key, value in (("minAvailable", least), ("maxUnavailable", most)):
        check_share(found, f"spec.{key}", value)
        check_not_over_100(found, f"spec.{key}", value)
    check_selector(found, "spec.selector", spec.get("selector"))
    found.one_of(
        "spec.unhealthyPodEvictionPolicy",
        spec.get("unhealthyPodEvictionPolicy"),
        ("AlwaysAllow", "IfHealthyBudget"),
    )
    return found


def _validate_status(new: JsonObject, _: JsonObject) -> list[FieldError]:
    found, status = Findings(), new.get("status") or {}
    for key in ("disruptionsAllowed", "currentHealthy", "desiredHealthy", "expectedPods"):
        found.not_negative(f"status.{key}", status.get(key))
    check_conditions(found, "status.conditions", status.get("conditions"))
    return found


_NOT_SET = "N/A"


def _fill(obj: Json, now: float) -> Cells:
    spec, status = obj.get("spec") or {}, obj.get("status") or {}
    return [
        name_of(obj),
        _or_not_set(spec.get("minAvailable")),
        _or_not_set(spec.get("maxUnavailable")),
        number(status.get("disruptionsAllowed")),
        age(obj, now),
    ]


def _or_not_set(value: Any) -> str:
    return _NOT_SET if value is None else str(value)


RESOURCES = (
    Resource(
        names=Names.of("policy", "v1", "PodDisruptionBudget", "poddisruptionbudgets", "pdb"),
        namespaced=True,
        name_rule=names.path_segment,  # Kubernetes checks no more of them
        has_status=True,
        lifecycle=Lifecycle(generation=Generation(), unconditional_update=False),
        rules=Rules(validate=_validate, validate_status=_validate_status),
        printer=Printer.of(
            _fill, "Name", "Min Available", "Max Unavailable", "Allowed Disruptions:integer", "Age"
        ),
    ),
)
