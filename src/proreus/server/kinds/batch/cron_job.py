"""CronJob: jobs at certain times."""

from __future__ import annotations

import re

from proreus.api import field_error
from proreus.api.field_error import FieldError
from proreus.api.json_types import Json, JsonObject
from proreus.api.values.cron import CronError, parse_schedule
from proreus.server.kinds.batch.job.spec import check_job_spec, default_job_spec, job_spec_warnings
from proreus.server.kinds.parts.cells import NONE, age, name_of, selector, since, true_false
from proreus.server.kinds.parts.findings import Findings
from proreus.server.kinds.parts.pod_template.warnings import name_warnings
from proreus.server.kinds.parts.workload_cells import WIDE, template_cells
from proreus.server.resource import Generation, Lifecycle, Names, Resource, Rules
from proreus.server.resource.printer import Cells, Printer

# A job's name is the cron job's plus eleven characters, and has to fit a label.
_NAME_MAX = 52
_ZONE_PART = re.compile(r"[A-Za-z._0-9+][A-Za-z.\-_0-9+]{0,13}", re.ASCII)


def _default(obj: JsonObject) -> None:
    spec = obj["spec"]
    spec.setdefault("concurrencyPolicy", "Allow")
    spec.setdefault("suspend", False)
    spec.setdefault("successfulJobsHistoryLimit", 3)
    spec.setdefault("failedJobsHistoryLimit", 1)
    template = spec.setdefault("jobTemplate", {})
    template.setdefault("metadata", {})
    default_job_spec(template.setdefault("spec", {}))


def _validate(obj: JsonObject) -> list[FieldError]:
    found, name = Findings(), obj["metadata"].get("name") or ""
    _check_spec(found, obj)
    if len(name) > _NAME_MAX:
        found.invalid("metadata.name", name, f"must be no more than {_NAME_MAX} characters")
    found.require("spec.schedule", obj["spec"].get("schedule"))  # the last error, as in Kubernetes
    return found


def _check_spec(found: Findings, obj: JsonObject, old: JsonObject | None = None) -> None:
    spec = obj["spec"]
    had = (old or {}).get("spec") or {}
    if schedule := spec.get("schedule"):
        had_zone = "TZ" in (had.get("schedule") or "")
        _check_schedule(found, schedule, spec.get("timeZone"), had_zone=had_zone)
    found.not_negative("spec.startingDeadlineSeconds", spec.get("startingDeadlineSeconds"))
    zone = spec.get("timeZone")
    if zone is not None and (old is None or zone != had.get("timeZone")):
        _check_zone(found, "spec.timeZone", zone)
    policies = ("Allow", "Forbid", "Replace")
    found.one_of("spec.concurrencyPolicy", spec.get("concurrencyPolicy"), policies)
    _check_template(found, "spec.jobTemplate.spec", spec["jobTemplate"]["spec"])
    for key in ("successfulJobsHistoryLimit", "failedJobsHistoryLimit"):
        found.not_negative(f"spec.{key}", spec.get(key))


def _check_template(found: Findings, at: str, spec: JsonObject) -> None:
    """Every job of it gets a selector of its own."""
    check_job_spec(found, at, spec)
    if spec.get("selector") is not None:
        found.invalid(f"{at}.selector", spec["selector"], "`selector` will be auto-generated")
    if spec.get("manualSelector"):
        found.append(field_error.not_supported(f"{at}.manualSelector", True, ("nil", "false")))


def _check_schedule(found: Findings, schedule: str, zone: str | None, *, had_zone: bool) -> None:
    try:
        parse_schedule(schedule)
    except CronError as problem:
        found.invalid("spec.schedule", schedule, str(problem))
    if had_zone and zone is not None and "TZ" in schedule:
        why = "cannot use both timeZone field and TZ or CRON_TZ in schedule"
        found.invalid("spec.schedule", schedule, why)
    elif not had_zone and "TZ" in schedule:
        why = "cannot use TZ or CRON_TZ in schedule, use timeZone field instead"
        found.invalid("spec.schedule", schedule, why)


def _check_zone(found: Findings, at: str, zone: str) -> None:
    unknown = f"unknown time zone {zone}"
    if not zone:
        found.invalid(at, zone, "timeZone must be nil or non-empty string")
    elif any(part in (".", "..") or not _ZONE_PART.fullmatch(part) for part in zone.split("/")):
        found.invalid(at, zone, unknown)
    elif zone.lower() == "local":
        why = "timeZone must be an explicit time zone as defined in https://www.iana.org/time-zones"
        found.invalid(at, zone, why)
        if zone != "Local":
            found.invalid(at, zone, unknown)
    else:
        try:
            from zoneinfo import ZoneInfo  # few cron jobs name one

            ZoneInfo(zone)
        except (KeyError, ValueError, OSError):
            found.invalid(at, zone, unknown)


def _validate_update(new: JsonObject, old: JsonObject) -> list[FieldError]:
    found = Findings()
    _check_spec(found, new, old)
    found.require("spec.schedule", new["spec"].get("schedule"))
    return found


def _warnings(obj: JsonObject) -> list[str]:
    return job_spec_warnings(obj["spec"]["jobTemplate"]["spec"], "spec.jobTemplate.spec")


def _fill(obj: Json, now: float) -> Cells:
    spec, status = obj.get("spec") or {}, obj.get("status") or {}
    job = spec.get("jobTemplate") or {}
    last = status.get("lastScheduleTime")
    return [
        name_of(obj),
        spec.get("schedule", ""),
        spec.get("timeZone") or NONE,
        true_false(spec.get("suspend")),
        len(status.get("active") or ()),
        since(last, now) if last else NONE,
        age(obj, now),
        *template_cells(job),
        selector((job.get("spec") or {}).get("selector")),
    ]


_PRINTER = Printer.of(
    _fill, "Name", "Schedule", "Timezone", "Suspend:boolean", "Active:integer", "Last Schedule",
    "Age", *WIDE,
)  # fmt: skip


RESOURCES = (
    Resource(
        names=Names.of("batch", "v1", "CronJob", "cronjobs", "cj", categories=("all",)),
        namespaced=True,
        has_status=True,
        lifecycle=Lifecycle(generation=Generation()),
        rules=Rules(
            default=_default,
            validate=_validate,
            validate_update=_validate_update,
            warnings=_warnings,
            warnings_on_create=name_warnings,
            warns_of_changes=True,
        ),
        printer=_PRINTER,
    ),
)
