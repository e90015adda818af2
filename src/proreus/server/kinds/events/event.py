"""Event: the events of the core group in another shape, stored as those."""

from __future__ import annotations

from typing import Any

from proreus.api.field_error import FieldError
from proreus.api.json_types import JsonObject
from proreus.server.kinds.parts.events import (
    FIELD_PATHS,
    INVOLVED,
    PRINTER,
    check_event,
    read_fields,
)
from proreus.server.kinds.parts.findings import IMMUTABLE, Findings
from proreus.server.resource import Lifecycle, Names, Persistence, Resource, Rules, SelectableFields
from proreus.server.resource.conversion import Conversion

_FIXED = ("involvedObject", "reason", "message", "source", "firstTimestamp", "lastTimestamp",
          "count", "type", "eventTime", "action", "related", "reportingComponent",
          "reportingInstance")  # fmt: skip
# What this group calls a field of the core group.
_NEWER = {
    "involvedObject": "regarding",
    "message": "note",
    "source": "deprecatedSource",
    "firstTimestamp": "deprecatedFirstTimestamp",
    "lastTimestamp": "deprecatedLastTimestamp",
    "count": "deprecatedCount",
    "reportingComponent": "reportingController",
}
_REFERENCE = {"kind": "Kind", "namespace": "Namespace", "name": "Name", "uid": "UID",
              "apiVersion": "APIVersion", "resourceVersion": "ResourceVersion",
              "fieldPath": "FieldPath"}  # fmt: skip
_CORE = {newer: core for core, newer in _NEWER.items()}


def _to_newer(event: JsonObject) -> JsonObject:
    """The core group writes the reporter even when it is empty, this one does not."""
    made = _renamed(event, _NEWER)
    for key in ("reportingController", "reportingInstance"):
        if not made.get(key):
            made.pop(key, None)
    return made


def _to_core(event: JsonObject) -> JsonObject:
    made = _renamed(event, _CORE)
    for key in ("reportingComponent", "reportingInstance"):
        made.setdefault(key, "")
    made.setdefault("source", {})
    made.setdefault("involvedObject", {})
    for key in ("eventTime", "firstTimestamp", "lastTimestamp"):
        made.setdefault(key, None)
    return made


def _renamed(event: JsonObject, names: dict[str, str]) -> JsonObject:
    return {names.get(key, key): value for key, value in event.items()}


def _validate(obj: JsonObject) -> list[FieldError]:
    found = Findings()
    check_event(found, obj, "reportingController")
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


def _validate_update(new: JsonObject, old: JsonObject) -> list[FieldError]:
    found = Findings()
    check_event(found, new, "reportingController")
    if new.get("series") != old.get("series"):
        _check_series(found, new.get("series"))
    for key in _FIXED:
        at = key if key == "involvedObject" else _NEWER.get(key, key)
        if new.get(key) != old.get(key):
            found.invalid(at, _as_go(key, new.get(key)), IMMUTABLE)
    return found


def _as_go(key: str, value: Any) -> Any:
    """As Kubernetes prints its internal form, and what is not set."""
    match key:
        case "involvedObject" | "related":
            fields = _REFERENCE
        case "source":
            fields = {"component": "Component", "host": "Host"}
        case "count":
            return value or 0
        case "reason" | "message" | "type" | "action" | "reportingComponent" | "reportingInstance":
            return value or ""
        case _:
            return value
    if value is None and key == "related":
        return None
    return {name: (value or {}).get(field) or "" for field, name in fields.items()}


# This group spells the same fields differently and refuses the core spelling.
_FIELDS = SelectableFields(
    names=("reason", "type"),
    read=read_fields,
    aliases={f"regarding.{name}": f"involvedObject.{name}" for name in INVOLVED}
    | {"reportingController": "reportingComponent"},
    own_table=True,
    reads=FIELD_PATHS,
)

RESOURCES = (
    Resource(
        names=Names.of("events.k8s.io", "v1", "Event", "events", "ev"),
        namespaced=True,
        persistence=Persistence(
            group="",
            conversion=Conversion(to_served=_to_newer, to_stored=_to_core),
            ttl_s=3600.0,
            cached=False,
        ),
        lifecycle=Lifecycle(create_on_update=True, garbage_collected=False),
        selectable=_FIELDS,
        rules=Rules(validate=_validate, validate_update=_validate_update),
        printer=PRINTER,
    ),
)
