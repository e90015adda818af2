"""DaemonSet: one pod on each node."""

from __future__ import annotations

import re

from proreus.api import field_error, go_text
from proreus.api.field_error import FieldError
from proreus.api.json_types import Json, JsonObject
from proreus.api.status import BadRequest
from proreus.server.kinds.parts import label_selectors, workloads
from proreus.server.kinds.parts.cells import age, name_of, number, pairs, selector
from proreus.server.kinds.parts.findings import Findings
from proreus.server.kinds.parts.pod_template.defaults import default_pod_template
from proreus.server.kinds.parts.pod_template.spec import check_pod_template
from proreus.server.kinds.parts.workload_cells import WIDE, container_cells, template_spec
from proreus.server.resource import Generation, Lifecycle, Names, Resource, Rules
from proreus.server.resource.printer import Cells, Printer

_GENERATION = "deprecated.daemonset.template.generation"
_INTEGER = re.compile(r"[+-]?[0-9]+", re.ASCII)
_INT64_MAX = 2**63 - 1
_DIGITS_MAX = 19  # of such a number; Python does not read one of thousands


def _default(obj: JsonObject) -> None:
    spec = obj["spec"]
    strategy = spec.setdefault("updateStrategy", {})
    if strategy.setdefault("type", "RollingUpdate") == "RollingUpdate":
        rolling = strategy.setdefault("rollingUpdate", {})
        rolling.setdefault("maxUnavailable", 1)
        rolling.setdefault("maxSurge", 0)
    spec.setdefault("revisionHistoryLimit", 10)
    default_pod_template(spec.setdefault("template", {}))
    # Whoever writes the whole object writes this, and so owns it; the count itself comes later.
    annotations = obj["metadata"].setdefault("annotations", {})
    text = annotations.setdefault(_GENERATION, "0")
    if text != "0" and (why := _fault_of_number(text)):
        kind = 'DaemonSet in version "v1" cannot be handled as a DaemonSet'
        raise BadRequest(f"{kind}: strconv.ParseInt: parsing {go_text.quoted(text)}: {why}")


def _prepare_create(obj: JsonObject) -> None:
    """A new set counts on from the number that it brings along."""
    obj["metadata"].setdefault("annotations", {})[_GENERATION] = str(max(_counted(obj), 1))


def _counted(obj: JsonObject) -> int:
    text = (obj["metadata"].get("annotations") or {}).get(_GENERATION) or ""
    return 0 if _fault_of_number(text) else int(text)


def _fault_of_number(text: str) -> str:
    """Why the annotation is no number of 64 bits: to Kubernetes it is a field of the spec."""
    if not _INTEGER.fullmatch(text):
        return "invalid syntax"
    digits = text.lstrip("+-").lstrip("0")
    if len(digits) > _DIGITS_MAX or int(digits or "0") > _INT64_MAX + text.startswith("-"):
        return "value out of range"
    return ""


def _prepare_update(new: JsonObject, old: JsonObject) -> None:
    """The counter of template changes, once a field, is an annotation."""
    count = _counted(old)
    if new["spec"].get("template") != old["spec"].get("template"):
        count += 1
    new["metadata"].setdefault("annotations", {})[_GENERATION] = str(count)


def _prepare_status(new: JsonObject, old: JsonObject) -> None:
    """The counter belongs to the spec, whatever the annotations of a status write say."""
    before = (old["metadata"].get("annotations") or {}).get(_GENERATION) or "0"
    new["metadata"].setdefault("annotations", {})[_GENERATION] = before


def _validate(obj: JsonObject) -> list[FieldError]:
    found, spec = Findings(), obj["spec"]
    _check_selector(found, "spec", spec)
    check_pod_template(found, "spec.template", spec["template"])
    workloads.check_always_restarts(found, "spec.template", spec["template"], "DaemonSet")
    found.not_negative("spec.minReadySeconds", spec.get("minReadySeconds"))
    _check_strategy(found, "spec.updateStrategy", spec.get("updateStrategy") or {})
    found.not_negative("spec.revisionHistoryLimit", spec.get("revisionHistoryLimit"))
    return found


def _check_selector(found: Findings, at: str, spec: Json) -> None:
    """Other than of the workloads with replicas, none at all just selects nothing."""
    chosen = spec.get("selector")
    label_selectors.check_selector(found, f"{at}.selector", chosen)
    if chosen is None or label_selectors.is_valid(chosen):
        workloads.check_match(found, f"{at}.template", chosen, spec["template"])
    if chosen is not None and label_selectors.is_empty(chosen):
        found.invalid(f"{at}.selector", chosen, "empty selector is invalid for daemonset")


def _check_strategy(found: Findings, at: str, strategy: Json) -> None:
    rolling = strategy.get("rollingUpdate")
    match strategy.get("type"):
        case "OnDelete":
            return
        case "RollingUpdate":
            if rolling is None:
                found.require(f"{at}.rollingUpdate", None)
                return
            surge, unavailable = rolling.get("maxSurge"), rolling.get("maxUnavailable")
            workloads.check_share(found, f"{at}.rollingUpdate.maxUnavailable", unavailable)
            workloads.check_share(found, f"{at}.rollingUpdate.maxSurge", surge)
            workloads.check_not_over_100(found, f"{at}.rollingUpdate.maxUnavailable", unavailable)
            workloads.check_not_over_100(found, f"{at}.rollingUpdate.maxSurge", surge)
            if workloads.is_zero(surge) and workloads.is_zero(unavailable):
                why = "cannot be 0 when maxSurge is 0"
                found.require(f"{at}.rollingUpdate.maxUnavailable", None, why)
            elif not workloads.is_zero(surge) and not workloads.is_zero(unavailable):
                why = "may not be set when maxUnavailable is non-zero"
                found.invalid(f"{at}.rollingUpdate.maxSurge", surge, why)
        case _:
            printed = workloads.printed_strategy(strategy)
            found.append(field_error.not_supported(at, printed, ("RollingUpdate", "OnDelete")))


_COUNTS = (
    "currentNumberScheduled", "numberMisscheduled", "desiredNumberScheduled", "numberReady",
    "observedGeneration", "updatedNumberScheduled", "numberAvailable", "numberUnavailable",
    "collisionCount",
)  # fmt: skip


def _validate_status(new: JsonObject, old: JsonObject) -> list[FieldError]:
    found, status = Findings(), new.get("status") or {}
    for key in _COUNTS:
        found.not_negative(f"status.{key}", status.get(key))
    workloads.check_collisions(found, new, old)
    return found


_PRINTED_COUNTS = (
    "desiredNumberScheduled",
    "currentNumberScheduled",
    "numberReady",
    "updatedNumberScheduled",
    "numberAvailable",
)


def _fill(obj: Json, now: float) -> Cells:
    spec, status = obj.get("spec") or {}, obj.get("status") or {}
    pod = template_spec(obj)
    return [
        name_of(obj),
        *(number(status.get(count)) for count in _PRINTED_COUNTS),
        pairs(pod.get("nodeSelector")),
        age(obj, now),
        *container_cells(pod),
        selector(spec.get("selector")),
    ]


_PRINTER = Printer.of(
    _fill, "Name", "Desired:integer", "Current:integer", "Ready:integer", "Up-to-date:integer",
    "Available:integer", "Node Selector", "Age", *WIDE,
)  # fmt: skip


RESOURCES = (
    Resource(
        names=Names.of("apps", "v1", "DaemonSet", "daemonsets", "ds", categories=("all",)),
        namespaced=True,
        has_status=True,
        lifecycle=Lifecycle(generation=Generation()),
        rules=Rules(
            default=_default,
            prepare_create=_prepare_create,
            prepare_update=_prepare_update,
            prepare_status=_prepare_status,
            validate=_validate,
            immutable=("spec.selector",),
            validate_status=_validate_status,
            warnings=workloads.template_warnings,
            warns_of_changes=True,
        ),
        printer=_PRINTER,
    ),
)
