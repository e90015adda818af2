"""Events of the core group and of events.k8s.io: the same facts under other names."""

from __future__ import annotations

from typing import Any

JsonObject = dict[str, Any]

_NEWER = {
    "involvedObject": "regarding",
    "message": "note",
    "source": "deprecatedSource",
    "firstTimestamp": "deprecatedFirstTimestamp",
    "lastTimestamp": "deprecatedLastTimestamp",
    "count": "deprecatedCount",
    "reportingComponent": "reportingController",
}
_CORE = {newer: core for core, newer in _NEWER.items()}
# What the core group writes even when it is empty, and the newer one does not.
_TEXTS = ("reportingComponent", "reportingInstance")


def to_newer(event: JsonObject) -> JsonObject:
    made = _renamed(event, _NEWER)
    for key in ("reportingController", "reportingInstance"):
        if not made.get(key):
            made.pop(key, None)
    return made


def to_core(event: JsonObject) -> JsonObject:
    made = _renamed(event, _CORE)
    for key in _TEXTS:
        made.setdefault(key, "")
    made.setdefault("source", {})
    made.setdefault("involvedObject", {})
    for key in ("eventTime", "firstTimestamp", "lastTimestamp"):
        made.setdefault(key, None)
    return made


def _renamed(event: JsonObject, names: dict[str, str]) -> JsonObject:
    return {names.get(key, key): value for key, value in event.items()}
