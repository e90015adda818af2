"""What may be reported of a job: an end is an end, and says why.

Kubernetes added these rules late; each holds for what a write changes, so that older statuses stay
writable.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from proreus.api.field_error import FieldError, Reason
from proreus.server.schema.kinds.findings import Findings, items
from proreus.server.schema.kinds.job_policies import count_indexes
from proreus.server.schema.rules import JsonObject

Json = Mapping[str, Any]
_COUNTS = ("active", "succeeded", "failed", "ready", "terminating")


def job_status(new: JsonObject, old: JsonObject) -> list[FieldError]:
    found = Findings()
    status, before = new.get("status") or {}, old.get("status") or {}
    for key in _COUNTS:
        found.not_negative(f"status.{key}", status.get(key))
    _check_uncounted(found, status.get("uncountedTerminatedPods") or {})
    _check_times(found, status, before)
    _check_reasons(found, status, before)
    _check_finished(found, status, before)
    _check_indexes(found, status, before, new["spec"])
    if (status.get("ready") or 0) > (status.get("active") or 0) and _changed(
        status, before, "ready", "active"
    ):
        found.invalid("status.ready", status["ready"], "cannot set more ready pods than active")
    _check_transitions(found, status, before, new["spec"])
    return found


def _changed(status: Json, before: Json, *keys: str) -> bool:
    return any(status.get(key) != before.get(key) for key in keys)


def _is_true(status: Json, kind: str) -> bool:
    return any(
        condition.get("type") == kind and condition.get("status") == "True"
        for condition in status.get("conditions") or ()
    )


def _turned(status: Json, before: Json, *kinds: str) -> bool:
    return any(_is_true(status, kind) != _is_true(before, kind) for kind in kinds)


def _refuse(found: Findings, why: str) -> None:
    """Kubernetes prints no value here: it would be all conditions."""
    found.append(FieldError("status.conditions", Reason.INVALID, f"Invalid value: {why}"))


def _check_uncounted(found: Findings, uncounted: Json) -> None:
    seen: set[str] = set()
    for key in ("succeeded", "failed"):
        for where, uid in items(uncounted.get(key), f"status.uncountedTerminatedPods.{key}"):
            if not uid:
                found.invalid(where, uid, "must not be empty")
            elif uid in seen:
                found.duplicate(where, uid)
            seen.add(uid)


def _check_times(found: Findings, status: Json, before: Json) -> None:
    done, at = status.get("completionTime"), "status.completionTime"
    complete = _is_true(status, "Complete")
    if _turned(status, before, "Complete", "Failed") and complete and _is_true(status, "Failed"):
        _refuse(found, "cannot set Complete=True and Failed=true conditions")
    both = complete and _is_true(status, "FailureTarget")
    if both and _turned(status, before, "Complete", "FailureTarget"):
        _refuse(found, "cannot set Complete=True and FailureTarget=true conditions")
    if _turned(status, before, "Complete") or _changed(status, before, "completionTime"):
        if done is not None and not complete:
            why = "cannot set completionTime when there is no Complete=True condition"
            found.invalid(at, done, why)
        if done is None and complete:
            found.require(at, None, "completionTime is required for Complete jobs")
    start = status.get("startTime")
    if _changed(status, before, "startTime", "completionTime") and start and done and done < start:
        found.invalid(at, done, "must be equal to or after `startTime`")


def _check_reasons(found: Findings, status: Json, before: Json) -> None:
    """The controller first says why a job is to end, and ends it when its pods are gone."""
    for end, why in (("Failed", "FailureTarget"), ("Complete", "SuccessCriteriaMet")):
        if (
            _is_true(status, end)
            and not _is_true(status, why)
            and _turned(status, before, end, why)
        ):
            _refuse(found, f"cannot set {end}=True condition without the {why}=true condition")


def _is_finished(status: Json) -> bool:
    return _is_true(status, "Complete") or _is_true(status, "Failed")


def _check_finished(found: Findings, status: Json, before: Json) -> None:
    if not _is_finished(status):
        return
    is_new = not _is_finished(before)
    for key in ("active", "terminating"):
        if (count := status.get(key) or 0) > 0 and (is_new or _changed(status, before, key)):
            found.invalid(f"status.{key}", count, f"{key}>0 is invalid for finished job")
    if not status.get("startTime") and (is_new or _changed(status, before, "startTime")):
        found.require("status.startTime", None, "startTime is required for finished job")


def _check_indexes(found: Findings, status: Json, before: Json, spec: Json) -> None:
    completions = spec.get("completions")
    for key in ("completedIndexes", "failedIndexes"):
        text = status.get(key)
        if text is None or not _changed(status, before, key):
            continue
        if key == "failedIndexes" and spec.get("backoffLimitPerIndex") is None:
            why = "cannot set non-null failedIndexes when backoffLimitPerIndex is null"
            found.invalid(f"status.{key}", text, why)
        elif completions is not None:
            try:
                count_indexes(text, completions)
            except ValueError as problem:
                found.invalid(f"status.{key}", text, f"error parsing {key}: {problem}")
        if key == "completedIndexes" and text and spec.get("completionMode") != "Indexed":
            why = "cannot set non-empty completedIndexes when non-indexed completion mode"
            found.invalid(f"status.{key}", text, why)


def _check_transitions(found: Findings, status: Json, before: Json, spec: Json) -> None:
    met = _is_true(status, "SuccessCriteriaMet")
    for other in ("Failed", "FailureTarget"):
        if met and _is_true(status, other):
            _refuse(found, f"cannot set SuccessCriteriaMet=True and {other}=true conditions")
    for kind in ("Failed", "Complete", "FailureTarget"):
        if _is_true(before, kind) and not _is_true(status, kind):
            _refuse(found, f"cannot disable the terminal {kind}=True condition")
    for key in ("failed", "succeeded"):
        is_indexed = key == "succeeded" and spec.get("completionMode") == "Indexed"
        if not is_indexed and (status.get(key) or 0) < (before.get(key) or 0):
            found.invalid(
                f"status.{key}", status.get(key) or 0, f"cannot decrease the {key} counter"
            )
    done, was_done = status.get("completionTime"), before.get("completionTime")
    if done and was_done and done != was_done:
        found.invalid("status.completionTime", done, "field is immutable")
    if (
        before.get("startTime")
        and _changed(status, before, "startTime")
        and not spec.get("suspend")
    ):
        why = "startTime cannot be removed for unsuspended job"
        found.require("status.startTime", None, why)
    if _is_true(before, "SuccessCriteriaMet") and not met:
        _refuse(found, "cannot disable the SuccessCriteriaMet=True condition")
