"""Undoing what an update through one endpoint may not change.

Done before anything else looks at the object, so that no one becomes the manager of a field that
was not changed.
"""

from __future__ import annotations

from proreus.api.json_types import Json, JsonObject


def restore(new: JsonObject, old: Json, field: str) -> None:
    """Undo any change of one top-level field."""
    if field in old:
        new[field] = old[field]
    else:
        new.pop(field, None)


def restore_content(new: JsonObject, old: JsonObject, *, keep: tuple[str, ...] = ()) -> None:
    """Undo any change but of metadata and the fields to keep."""
    for field in {*new, *old} - {"kind", "apiVersion", "metadata", *keep}:
        restore(new, old, field)


def restore_metadata(new: JsonObject, old: JsonObject) -> None:
    """Undo any change of metadata; which object was meant, and who changed it, still counts."""
    found = new.get("metadata")
    given = found if isinstance(found, dict) else {}
    fields = given.get("managedFields")
    new["metadata"] = {**old["metadata"], "resourceVersion": given.get("resourceVersion") or ""}
    if fields is not None:
        new["metadata"]["managedFields"] = fields


def restore_all_but(new: JsonObject, old: JsonObject, part: str, field: str) -> None:
    """Undo every change but those of metadata and of one field of the spec or status."""
    value = (new.get(part) or {}).get(field)
    restore_content(new, old, keep=(part,))
    new[part] = {**(old.get(part) or {}), field: value}
    if not value:
        del new[part][field]
