"""Cron jobs."""

from __future__ import annotations

from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from proreus.api.field_error import FieldError
from proreus.api.values.cron import CronError, parse_schedule
from proreus.server.schema.kinds.findings import Findings
from proreus.server.schema.kinds.jobs import (
    check_job_spec,
    default_job_spec,
    job_spec_warnings,
)
from proreus.server.schema.kinds.pod_warnings import name_warnings
from proreus.server.schema.rules import JsonObject, Rules

# A job's name is the cron job's plus eleven characters, and has to fit a label.
_NAME_MAX = 52


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
    return found


def _check_spec(found: Findings, obj: JsonObject) -> None:
    spec = obj["spec"]
    check_job_spec(found, "spec.jobTemplate.spec", spec["jobTemplate"]["spec"])
    schedule = spec.get("schedule") or ""
    if found.require("spec.schedule", schedule):
        _check_schedule(found, schedule, spec.get("timeZone"))
    if (zone := spec.get("timeZone")) is not None:
        _check_zone(found, "spec.timeZone", zone)
    found.not_negative("spec.startingDeadlineSeconds", spec.get("startingDeadlineSeconds"))
    found.one_of(
        "spec.concurrencyPolicy", spec.get("concurrencyPolicy"), ("Allow", "Forbid", "Replace")
    )
    for key in ("successfulJobsHistoryLimit", "failedJobsHistoryLimit"):
        found.not_negative(f"spec.{key}", spec.get(key))


def _check_schedule(found: Findings, schedule: str, zone: str | None) -> None:
    try:
        parse_schedule(schedule)
    except CronError as problem:
        found.invalid("spec.schedule", schedule, str(problem))
    if zone is not None and "TZ" in schedule:
        why = "cannot use both timeZone field and TZ or CRON_TZ in schedule"
        found.invalid("spec.schedule", schedule, why)
    elif "TZ" in schedule:
        why = "cannot use TZ or CRON_TZ in schedule, use timeZone field instead"
        found.invalid("spec.schedule", schedule, why)


def _check_zone(found: Findings, at: str, zone: str) -> None:
    if not zone:
        found.invalid(at, zone, "timeZone must be nil or non-empty string")
    elif zone.lower() == "local":
        found.invalid(
            at,
            zone,
            "timeZone must be an explicit time zone as defined in https://www.iana.org/time-zones",
        )
    else:
        try:
            ZoneInfo(zone)
        except (ZoneInfoNotFoundError, ValueError, OSError):
            found.invalid(at, zone, f"unknown time zone {zone}")


def _validate_update(new: JsonObject, old: JsonObject) -> list[FieldError]:
    found = Findings()
    _check_spec(found, new)
    return found


def _warnings(obj: JsonObject) -> list[str]:
    return job_spec_warnings(obj["spec"]["jobTemplate"]["spec"], "spec.jobTemplate.spec")


CRON_JOB = Rules(
    default=_default,
    validate=_validate,
    validate_update=_validate_update,
    warnings=_warnings,
    warnings_on_create=name_warnings,
    warns_of_changes=True,
)
