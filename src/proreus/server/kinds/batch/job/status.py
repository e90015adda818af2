"""The status of a job: a finished job stays finished, and its reason precedes its end.

Kubernetes added these rules late; each holds for what a write changes, so that older statuses stay
writable.
"""

from __future__ import annotations

from proreus.api.field_error import FieldError, Reason
from proreus.api.json_types import Json, JsonObject
from proreus.server.kinds.batch.job.policies import count_indexes, first_common_index
from proreus.server.kinds.parts.conditions import is_true
from proreus.server.kinds.parts.findings import Findings, items

_UNCOUNTED = ("succeeded", "failed")
_COUNTS = ("active", "succeeded", "failed", "ready", "terminating")


def validate_status(new: JsonObject, old: JsonObject) -> list[FieldError]:
    found = Findings()
    status, before = new.get("status") or {}, old.get("status") or {}
    for key in _COUNTS:
        found.not_negative(f"status.{key}", status.get(key))
    _check_uncounted(found, status.get("uncountedTerminatedPods") or {})
    _check_times(found, status, before)
    _check_reasons(found, status, before)
    _check_finished(found, status, before, new["spec"])
    _check_indexes(found, status, before, new["spec"])
    _check_gone(found, status, before)
    ready, active = status.get("ready") or 0, status.get("active") or 0
    if ready > active and _changed(status, before, "ready", "active"):
        found.invalid("status.ready", ready, "cannot set more ready pods than active")
    _check_transitions(found, status, before, new["spec"])
    return found


def _changed(status: Json, before: Json, *keys: str) -> bool:
    return any(status.get(key) != before.get(key) for key in keys)


def _is_true(status: Json, kind: str) -> bool:
    return is_true(status.get("conditions"), kind)


def _turned(status: Json, before: Json, *kinds: str) -> bool:
    return any(_is_true(status, kind) != _is_true(before, kind) for kind in kinds)


def _refuse(found: Findings, why: str) -> None:
    """Kubernetes prints no value here: it would be all conditions."""
    found.append(FieldError("status.conditions", Reason.INVALID, f"Invalid value: {why}"))


def _check_uncounted(found: Findings, uncounted: Json) -> None:
    seen: set[str] = set()
    for key in _UNCOUNTED:
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
        found.invalid(at, done, "completionTime cannot be set before startTime")


def _check_reasons(found: Findings, status: Json, before: Json) -> None:
    """The controller first sets the reason, and finishes the job when its pods are gone."""
    for end, why in (("Failed", "FailureTarget"), ("Complete", "SuccessCriteriaMet")):
        if (
            _is_true(status, end)
            and not _is_true(status, why)
            and _turned(status, before, end, why)
        ):
            _refuse(found, f"cannot set {end}=True condition without the {why}=true condition")


def _is_finished(status: Json) -> bool:
    return _is_true(status, "Complete") or _is_true(status, "Failed")


def _check_finished(found: Findings, status: Json, before: Json, spec: Json) -> None:
    if not _is_finished(status):
        return
    is_new = not _is_finished(before)
    if (count := status.get("active") or 0) > 0 and (is_new or _changed(status, before, "active")):
        found.invalid("status.active", count, "active>0 is invalid for finished job")
    ran = not (spec.get("suspend") and spec.get("completions") == 0)
    if ran and not status.get("startTime") and (is_new or _changed(status, before, "startTime")):
        found.require("status.startTime", None, "startTime is required for finished job")
    uncounted = status.get("uncountedTerminatedPods") or {}
    if any(uncounted.get(key) for key in _UNCOUNTED) and (
        is_new or _changed(status, before, "uncountedTerminatedPods")
    ):
        printed = {key.capitalize(): uncounted.get(key) for key in _UNCOUNTED}
        why = "uncountedTerminatedPods needs to be empty for finished job"
        found.invalid("status.uncountedTerminatedPods", printed, why)


def _check_gone(found: Findings, status: Json, before: Json) -> None:
    is_new = not _is_finished(before) or _changed(status, before, "terminating")
    if (count := status.get("terminating") or 0) > 0 and _is_finished(status) and is_new:
        found.invalid("status.terminating", count, "terminating>0 is invalid for finished job")


def _check_indexes(found: Findings, status: Json, before: Json, spec: Json) -> None:
    completed, failed = status.get("completedIndexes") or "", status.get("failedIndexes")
    is_new = _changed(status, before, "completedIndexes")
    is_failed_new = _changed(status, before, "failedIndexes") and failed is not None
    completions, limit = spec.get("completions"), spec.get("backoffLimitPerIndex")
    if completions is not None and is_new:
        _check_format(found, "completedIndexes", completed, completions)
    if completions is not None and limit is not None and is_failed_new:
        _check_format(found, "failedIndexes", failed or "", completions)
    if completed and spec.get("completionMode") != "Indexed" and is_new:
        why = "cannot set non-empty completedIndexes when non-indexed completion mode"
        found.invalid("status.completedIndexes", completed, why)
    if limit is None and is_failed_new:
        why = "cannot set non-null failedIndexes when backoffLimitPerIndex is null"
        found.invalid("status.failedIndexes", failed, why)
    if completions is not None and failed is not None and (is_new or is_failed_new):
        index = first_common_index(completed, failed, completions)
        if index is not None:
            why = f"failedIndexes and completedIndexes overlap at index: {index}"
            found.invalid("status.failedIndexes", failed, why)


def _check_format(found: Findings, key: str, text: str, completions: int) -> None:
    try:
        count_indexes(text, completions)
    except ValueError as problem:
        found.invalid(f"status.{key}", text, f"error parsing {key}: {problem}")


def _check_transitions(found: Findings, status: Json, before: Json, spec: Json) -> None:
    met = _is_true(status, "SuccessCriteriaMet")
    for other in ("Failed", "FailureTarget"):
        if met and _is_true(status, other):
            _refuse(found, f"cannot set SuccessCriteriaMet=True and {other}=true conditions")
    if spec.get("successPolicy") is not None and not met and _is_true(status, "Complete"):
        _refuse(
            found,
            "cannot set Complete=True for Job with SuccessPolicy unless SuccessCriteriaMet=True",
        )
    for kind in ("Failed", "Complete", "FailureTarget"):
        if _is_true(before, kind) and not _is_true(status, kind):
            _refuse(found, f"cannot disable the terminal {kind}=True condition")
    for key in ("failed", "succeeded"):
        may_shrink = (
            key == "succeeded"
            and spec.get("completionMode") == "Indexed"
            and spec.get("completions") == spec.get("parallelism")
        )
        if not may_shrink and (status.get(key) or 0) < (before.get(key) or 0):
            found.invalid(
                f"status.{key}", status.get(key) or 0, f"cannot decrease the {key} counter"
            )
    done, was_done = status.get("completionTime"), before.get("completionTime")
    if done and was_done and done != was_done:
        found.invalid("status.completionTime", done, "completionTime cannot be mutated")
    if (
        before.get("startTime")
        and _changed(status, before, "startTime")
        and not spec.get("suspend")
    ):
        why = "startTime cannot be removed for unsuspended job"
        found.require("status.startTime", None, why)
    if _is_true(before, "SuccessCriteriaMet") and not met:
        _refuse(found, "cannot disable the SuccessCriteriaMet=True condition")
    if _is_true(before, "Complete") and not _is_true(before, "SuccessCriteriaMet") and met:
        _refuse(
            found, "cannot set SuccessCriteriaMet=True for Job already has Complete=true conditions"
        )
