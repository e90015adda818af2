"""Job: pods that run until they succeed."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from proreus.api.field_error import FieldError
from proreus.api.json_types import Json, JsonObject
from proreus.api.table import human_duration
from proreus.api.values import names
from proreus.server.kinds.batch.job.spec import check_job_spec, default_job_spec, job_spec_warnings
from proreus.server.kinds.batch.job.status import validate_status
from proreus.server.kinds.parts.cells import (
    age,
    holds,
    is_deleting,
    name_of,
    number,
    selector,
    unix_time,
)
from proreus.server.kinds.parts.findings import Findings
from proreus.server.kinds.parts.label_selectors import check_selector, is_valid, matches
from proreus.server.kinds.parts.pod_template.warnings import name_warnings
from proreus.server.kinds.parts.workload_cells import WIDE, template_cells
from proreus.server.kinds.parts.workloads import check_match
from proreus.server.resource import Generation, Lifecycle, Names, Resource, Rules, SelectableFields
from proreus.server.resource.printer import Cells, Printer
from proreus.server.resource.selectable import dig

_CONTROLLER_UID = "batch.kubernetes.io/controller-uid"
_JOB_NAME = "batch.kubernetes.io/job-name"
_OLD_CONTROLLER_UID, _OLD_JOB_NAME = "controller-uid", "job-name"
# Labels that the server puts on the template, and the field of the job that is the value of each.
_MADE_LABELS = {
    _OLD_CONTROLLER_UID: "uid",
    _OLD_JOB_NAME: "name",
    _CONTROLLER_UID: "uid",
    _JOB_NAME: "name",
}
_PROPAGATION_WARNING = (
    "child pods are preserved by default when jobs are deleted; set propagationPolicy=Background "
    "to remove them or set propagationPolicy=Orphan to suppress this warning"
)
_INT32_MAX = 2**31 - 1
_DIRECTIVES = ("nodeSelector", "tolerations", "schedulingGates")  # and the affinity to nodes


def _default(obj: JsonObject) -> None:
    spec = obj["spec"]
    if spec.get("completions") is None and spec.get("parallelism") is None:
        spec["completions"] = spec["parallelism"] = 1
    spec.setdefault("parallelism", 1)
    per_index = spec.get("backoffLimitPerIndex") is not None
    spec.setdefault("backoffLimit", _INT32_MAX if per_index else 6)
    spec.setdefault("completionMode", "NonIndexed")
    spec.setdefault("suspend", False)
    has_policy = spec.get("podFailurePolicy") is not None
    spec.setdefault("podReplacementPolicy", "Failed" if has_policy else "TerminatingOrFailed")
    spec.setdefault("manualSelector", False)
    default_job_spec(spec)
    _default_labels(obj)


def _default_labels(obj: JsonObject) -> None:
    labels = (obj["spec"]["template"].get("metadata") or {}).get("labels")
    if labels and not obj["metadata"].get("labels"):
        obj["metadata"]["labels"] = dict(labels)


def _prepare_create(obj: JsonObject) -> None:
    spec, metadata = obj["spec"], obj["metadata"]
    own_labels = metadata.get("labels")
    template_metadata = spec["template"].setdefault("metadata", {})
    if not spec.get("manualSelector"):
        follows_template = own_labels == template_metadata.get("labels")
        name = metadata.get("name") or ""  # without one it is refused, but later
        labels = template_metadata["labels"] = dict(template_metadata.get("labels") or {})
        for key, value in (
            (_CONTROLLER_UID, metadata["uid"]),
            (_JOB_NAME, name),
            (_OLD_CONTROLLER_UID, metadata["uid"]),
            (_OLD_JOB_NAME, name),
        ):
            labels.setdefault(key, value)
        selector = spec.setdefault("selector", {})
        selector.setdefault("matchLabels", {}).setdefault(_CONTROLLER_UID, metadata["uid"])
        if follows_template:
            metadata.pop("labels", None)
    _default_labels(obj)


def _validate(obj: JsonObject) -> list[FieldError]:
    found = Findings()
    _check_generated_selector(found, obj)
    spec = obj["spec"]
    check_job_spec(found, "spec", spec)
    _check_selector(found, spec)
    _check_hostnames(found, obj)
    return found


def _check_hostnames(found: Findings, obj: Json) -> None:
    """The pods of an indexed job are called by their index, too."""
    spec, name = obj["spec"], obj["metadata"].get("name") or ""
    if spec.get("completionMode") != "Indexed" or (spec.get("completions") or 0) <= 0:
        return
    longest = f"{name}-{spec['completions'] - 1}"
    if names.dns_label(longest):
        why = f"will not able to create pod with invalid DNS label: {longest}"
        found.invalid("metadata.name", name, why)


def _check_selector(found: Findings, spec: Json) -> None:
    if spec.get("selector") is None:
        found.require("spec.selector", None)
    else:
        check_selector(found, "spec.selector", spec["selector"])
    if spec.get("selector") is None or is_valid(spec["selector"]):
        check_match(found, "spec.template", spec.get("selector"), spec["template"])


def _check_generated_selector(found: Findings, obj: JsonObject) -> None:
    """A selector the server made must be the server's: two jobs never share pods."""
    spec, metadata = obj["spec"], obj["metadata"]
    selector = spec.get("selector")
    if spec.get("manualSelector") or selector is None:
        return
    labels = (spec["template"].get("metadata") or {}).get("labels") or {}
    wanted = {key: metadata.get(field) or "" for key, field in _MADE_LABELS.items()}
    for key, value in wanted.items():
        at = f"spec.template.metadata.labels[{key}]"
        if key not in labels:
            found.require(at, None, f"must be '{value}'")
        elif labels[key] != value:
            found.invalid(at, dict(sorted(labels.items())), f"must be '{value}'")
    if is_valid(selector) and not matches(selector, wanted):
        printed = dict(selector)
        if chosen := selector.get("matchLabels"):
            printed["matchLabels"] = dict(sorted(chosen.items()))
        found.invalid("spec.selector", printed, "`selector` not auto-generated")


def _validate_update(new: JsonObject, old: JsonObject) -> list[FieldError]:
    found = Findings()
    spec, before = new["spec"], old["spec"]
    check_job_spec(found, "spec", spec)
    _check_selector(found, spec)
    _check_completions(found, spec, before)
    for key in ("selector", "template", "completionMode", "podFailurePolicy",
                "backoffLimitPerIndex", "managedBy", "successPolicy"):  # fmt: skip
        if key == "template" and _may_change_template(spec, before, old):
            continue
        found.immutable(f"spec.{key}", spec.get(key), before.get(key))
    return found


def _check_completions(found: Findings, spec: Json, before: Json) -> None:
    """An indexed job may change its size, both numbers together."""
    count = spec.get("completions")
    if spec.get("completionMode") != "Indexed":
        found.immutable("spec.completions", count, before.get("completions"))
    elif count not in (None, before.get("completions")) and count != spec.get("parallelism"):
        why = "can only be modified in tandem with spec.parallelism"
        found.invalid("spec.completions", count, why)


def _may_change_template(spec: Json, before: Json, old: Json) -> bool:
    """Scheduling directives may change until the job has started."""
    if not before.get("suspend") or (old.get("status") or {}).get("startTime"):
        return False
    return _fixed_part(spec["template"]) == _fixed_part(before["template"])


def _fixed_part(template: Json) -> tuple[Any, ...]:
    pod = {k: v for k, v in (template.get("spec") or {}).items() if k not in _DIRECTIVES}
    if affinity := {
        k: v for k, v in (pod.pop("affinity", None) or {}).items() if k != "nodeAffinity"
    }:
        pod["affinity"] = affinity
    metadata = template.get("metadata") or {}
    return pod, {k: v for k, v in metadata.items() if k not in ("labels", "annotations")}


def _status_text(obj: Json) -> str:
    """A finished job is finished even while it is being deleted."""
    texts = ["Complete", "Failed"]
    if not is_deleting(obj):
        texts += ["Suspended", "FailureTarget", "SuccessCriteriaMet"]
    last = "Terminating" if is_deleting(obj) else "Running"
    return next((text for text in texts if holds(obj, text)), last)


def _completions(spec: Json, status: Json) -> str:
    done, wanted = number(status.get("succeeded")), spec.get("completions")
    if wanted is not None:
        return f"{done}/{wanted}"
    parallelism = number(spec.get("parallelism"))
    return f"{done}/1 of {parallelism}" if parallelism > 1 else f"{done}/1"


def _duration(status: Json, now: float) -> str:
    start = unix_time(status.get("startTime"))
    if start is None:
        return ""
    return human_duration((unix_time(status.get("completionTime")) or now) - start)


def _fill(obj: Json, now: float) -> Cells:
    spec, status = obj.get("spec") or {}, obj.get("status") or {}
    return [
        name_of(obj),
        _status_text(obj),
        _completions(spec, status),
        _duration(status, now),
        age(obj, now),
        *template_cells(obj),
        selector(spec.get("selector")),
    ]


def _read_fields(obj: Mapping[str, Any]) -> dict[str, str]:
    return {"status.successful": str(dig(obj, ("status", "succeeded")) or 0)}


RESOURCES = (
    Resource(
        names=Names.of("batch", "v1", "Job", "jobs", categories=("all",)),
        namespaced=True,
        has_status=True,
        lifecycle=Lifecycle(
            generation=Generation(),
            default_propagation="Orphan",
            propagation_warning=_PROPAGATION_WARNING,
        ),
        selectable=SelectableFields(
            names=("status.successful",),
            read=_read_fields,
            own_table=True,
            unknown_field='field label "{}" not supported for Job',
            reads=("status.succeeded",),
        ),
        rules=Rules(
            default=_default,
            prepare_create=_prepare_create,
            validate=_validate,
            validate_update=_validate_update,
            validate_status=validate_status,
            warnings=lambda obj: job_spec_warnings(obj["spec"], "spec"),
            warnings_on_create=name_warnings,
            warns_of_changes=True,
        ),
        printer=Printer.of(_fill, "Name", "Status", "Completions", "Duration", "Age", *WIDE),
    ),
)
