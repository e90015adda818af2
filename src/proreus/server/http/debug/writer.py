"""Who wrote a version of an object, as far as its managed fields tell. Pure."""

from __future__ import annotations

from dataclasses import dataclass

from proreus.api.json_types import Json


@dataclass(frozen=True, slots=True)
class WrittenBy:
    """Empty: nobody says."""

    manager: str = ""
    time: str = ""


def written_by(new: Json | None, old: Json | None) -> WrittenBy:
    """The manager whose entry differs between two versions; if none does, the one that wrote last.

    A write changes its manager's entry, by its time at least. Two writes of one second by one
    manager may leave it as it was.
    """
    entries = _entries(new)
    if not entries:
        return WrittenBy()
    before = _entries(old)
    changed = [entry for entry in entries if entry not in before]
    newest = max(changed or entries, key=lambda entry: str(entry.get("time", "")))
    return WrittenBy(str(newest.get("manager", "")), str(newest.get("time", "")))


def _entries(obj: Json | None) -> list[Json]:
    metadata = (obj or {}).get("metadata") or {}
    return [entry for entry in metadata.get("managedFields") or () if isinstance(entry, dict)]
