"""What an update through one endpoint may change: the object itself, its status, or less.

``reset`` puts back what the endpoint does not own, before anything else looks at the object, so
that nobody becomes the manager of a field that was not changed.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from proreus.api.field_error import FieldError
from proreus.server.registry import metadata
from proreus.server.registry.resource import Resource
from proreus.server.schema.rules import JsonObject

Change = Callable[[JsonObject, JsonObject], None]  # new, old
Validate = Callable[[JsonObject, JsonObject], list[FieldError]]
Warnings = Callable[[JsonObject, JsonObject], list[str]]


def _no_warnings(_: JsonObject, __: JsonObject) -> list[str]:
    return []


@dataclass(frozen=True, slots=True, kw_only=True)
class UpdateStrategy:
    reset: Change
    prepare: Change
    validate: Validate
    warnings: Warnings = _no_warnings
    may_end_deletion: Callable[[JsonObject, JsonObject], bool] = metadata.goes_with_last_finalizer


def main_strategy(resource: Resource) -> UpdateStrategy:
    has_status = resource.has_status
    rules = resource.rules
    counts = resource.tracks_generation and resource.generation_grows

    def reset(new: JsonObject, old: JsonObject) -> None:
        if has_status:
            restore(new, old, "status")

    def prepare(new: JsonObject, old: JsonObject) -> None:
        rules.prepare_update(new, old)
        if counts and (
            metadata.spec_changed(new, old)
            or (resource.generation_on_annotations and _annotations(new) != _annotations(old))
        ):
            metadata.of(new)["generation"] = (old["metadata"].get("generation") or 0) + 1

    def warnings(new: JsonObject, old: JsonObject) -> list[str]:
        is_same = new["metadata"].get("generation") == old["metadata"].get("generation")
        return [] if rules.warns_of_changes and is_same else rules.warnings(new)

    return UpdateStrategy(
        reset=reset,
        prepare=prepare,
        validate=rules.validate_update,
        warnings=warnings,
        may_end_deletion=_ends_namespace if is_namespaces(resource) else _ends,
    )


def status_strategy(resource: Resource) -> UpdateStrategy:
    """Only status changes; of most built-in kinds labels, annotations and finalizers too."""

    def reset(new: JsonObject, old: JsonObject) -> None:
        restore_content(new, old, keep=("status",))
        if resource.status_only:
            keep_metadata(new, old)

    return UpdateStrategy(
        reset=reset,
        prepare=resource.rules.prepare_status,
        validate=resource.rules.validate_status,
        may_end_deletion=_ends_namespace if is_namespaces(resource) else _ends,
    )


def keep_metadata(new: JsonObject, old: JsonObject) -> None:
    """Undo any change of metadata; which object was meant, and who changed it, still counts."""
    version = metadata.of(new).get("resourceVersion")
    fields = metadata.of(new).get("managedFields")
    new["metadata"] = {**old["metadata"], "resourceVersion": version or ""}
    if fields is not None:
        new["metadata"]["managedFields"] = fields


def restore(new: JsonObject, old: JsonObject, field: str) -> None:
    """Undo any change of one top-level field."""
    if field in old:
        new[field] = old[field]
    else:
        new.pop(field, None)


def restore_content(new: JsonObject, old: JsonObject, *, keep: tuple[str, ...]) -> None:
    """Undo any change but of metadata and the fields to keep."""
    for field in {*new, *old} - {"kind", "apiVersion", "metadata", *keep}:
        restore(new, old, field)


def _ends(new: JsonObject, old: JsonObject) -> bool:
    return metadata.goes_with_last_finalizer(new, old)


def _ends_namespace(new: JsonObject, old: JsonObject) -> bool:
    """A namespace is also held by what its spec still has to clean up."""
    held: Any = (new.get("spec") or {}).get("finalizers")
    return not held and metadata.goes_with_last_finalizer(new, old)


def is_namespaces(resource: Resource) -> bool:
    return resource.plural == "namespaces" and not resource.group


def _annotations(obj: JsonObject) -> object:
    return obj["metadata"].get("annotations") or {}
