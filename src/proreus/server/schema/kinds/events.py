"""Events, in the shape of the core group, which both groups store.

An event with an eventTime is of the newer sort and must say who reports it and why. The newer group
refuses the older sort, and calls the reporter by another name.
"""

from __future__ import annotations

from proreus.api.field_error import FieldError
from proreus.api.values import names
from proreus.server.schema.kinds.findings import Findings
from proreus.server.schema.rules import JsonObject, Rules

_TEXT_MAX = 128
_MESSAGE_MAX = 1024
_FIXED = ("involvedObject", "reason", "message", "source", "firstTimestamp", "lastTimestamp",
          "count", "type", "eventTime", "action", "related", "reportingComponent",
          "reportingInstance")  # fmt: skip
# What the newer group calls a field of the older one.
_NEWER = {
    "involvedObject": "involvedObject",
    "message": "note",
    "reportingComponent": "reportingController",
    "source": "deprecatedSource",
    "firstTimestamp": "deprecatedFirstTimestamp",
    "lastTimestamp": "deprecatedLastTimestamp",
    "count": "deprecatedCount",
}


def _check_common(found: Findings, obj: JsonObject, reporter: str) -> None:
    namespace = obj["metadata"].get("namespace") or ""
    about = (obj.get("involvedObject") or {}).get("namespace") or ""
    # The newer sort may be about an object elsewhere, but not about one nowhere.
    is_newer = bool(obj.get("eventTime"))
    free = ("default", "kube-system") if is_newer else ("", "default")
    if (not about and namespace not in free) or (about not in ("", namespace) and not is_newer):
        found.invalid("involvedObject.namespace", about, "does not match event.namespace")
    if not is_newer:
        return
    name = obj.get("reportingComponent") or ""
    found.require(reporter, name)
    found.name(reporter, name, names.qualified_name)
    for key in ("reportingInstance", "action", "reason"):
        if found.require(key, obj.get(key)) and len(obj[key]) > _TEXT_MAX:
            found.invalid(key, "", f"can have at most {_TEXT_MAX} characters")
    if len(obj.get("message") or "") > _MESSAGE_MAX:
        found.invalid("message", "", f"can have at most {_MESSAGE_MAX} characters")


def _validate_core(obj: JsonObject) -> list[FieldError]:
    found = Findings()
    _check_common(found, obj, "reportingComponent")
    return found


def _validate_newer(obj: JsonObject) -> list[FieldError]:
    found = Findings()
    _check_common(found, obj, "reportingController")
    _check_series(found, obj.get("series"))
    found.require("eventTime", obj.get("eventTime"))
    if (kind := obj.get("type") or "") not in ("Normal", "Warning"):
        found.invalid("type", "", f"has invalid value: {kind}")
    for key in ("firstTimestamp", "lastTimestamp", "count"):
        if obj.get(key):
            found.invalid(_NEWER[key], "", "needs to be unset")
    source = obj.get("source") or {}
    if source.get("component") or source.get("host"):
        found.invalid(_NEWER["source"], "", "needs to be unset")
    return found


def _check_series(found: Findings, series: JsonObject | None) -> None:
    if series is None:
        return
    if (series.get("count") or 0) < 2:
        found.invalid("series.count", "", "should be at least 2")
    found.require("series.lastObservedTime", series.get("lastObservedTime"))


def _update_newer(new: JsonObject, old: JsonObject) -> list[FieldError]:
    found = Findings()
    _check_common(found, new, "reportingController")
    if new.get("series") != old.get("series"):
        _check_series(found, new.get("series"))
    for key in _FIXED:
        found.immutable(_NEWER.get(key, key), new.get(key), old.get(key))
    return found


CORE_EVENT = Rules(validate=_validate_core, validate_update=lambda new, _: _validate_core(new))
EVENT = Rules(validate=_validate_newer, validate_update=_update_newer)
