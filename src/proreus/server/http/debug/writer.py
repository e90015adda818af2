"""Who wrote a version of an object, as far as its managed fields tell. Pure.

A write gives its manager's entry another time or more fields; times are in seconds, so a second
write within one second may leave the entry as it was, and then what changed says whose it is. An
entry that has only become smaller is of a manager that lost fields to the writer.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from proreus.api.json_types import Json
from proreus.lazy_dataclass import dataclass


@dataclass(frozen=True, slots=True)
class WrittenBy:
    """Empty: nobody says."""

    manager: str = ""
    time: str = ""


def written_by(new: Json | None, old: Json | None) -> WrittenBy:
    entries = _entries(new)
    if not entries:
        return WrittenBy()
    before = _entries(old)
    candidates = [entry for entry in entries if _is_writers(entry, before)]
    if not candidates and old is not None and new is not None:
        candidates = [entry for entry in entries if _owns_change(entry, old, new)]
    newest = max(candidates or entries, key=lambda entry: str(entry.get("time", "")))
    return WrittenBy(str(newest.get("manager", "")), str(newest.get("time", "")))


def _entries(obj: Json | None) -> list[Json]:
    metadata = (obj or {}).get("metadata") or {}
    return [entry for entry in metadata.get("managedFields") or () if isinstance(entry, dict)]


def _is_writers(entry: Json, before: list[Json]) -> bool:
    """Whether an entry is new, has another time, or has fields that it had not."""
    same = [other for other in before if _identity(other) == _identity(entry)]
    if not same or same[0].get("time") != entry.get("time"):
        return True
    return not _is_within(entry.get("fieldsV1"), same[0].get("fieldsV1"))


def _identity(entry: Json) -> tuple[object, ...]:
    return tuple(entry.get(name) for name in ("manager", "operation", "apiVersion", "subresource"))


def _is_within(fields: Any, others: Any) -> bool:
    if not isinstance(fields, dict) or not isinstance(others, dict):
        return not fields
    return all(name in others and _is_within(fields[name], others[name]) for name in fields)


def _owns_change(entry: Json, old: Json, new: Json) -> bool:
    return _is_changed(entry.get("fieldsV1") or {}, old, new)


def _is_changed(fields: Mapping[str, Any], old: Json, new: Json) -> bool:
    """Whether a field of the set differs; of a list, whether the list does."""
    for path, below in fields.items():
        name = path.removeprefix("f:")
        was, now = old.get(name), new.get(name)
        if was == now:
            continue
        if not below or not isinstance(was, dict) or not isinstance(now, dict):
            return True
        if _is_changed(below, was, now):
            return True
    return False
