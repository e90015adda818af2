"""What an update through one endpoint may change: the object itself, its status, or less.

``reset`` puts back what the endpoint does not own, before anything else reads the object, so
that no one becomes the manager of a field that was not changed.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache

from proreus.api.json_types import JsonObject
from proreus.lazy_dataclass import dataclass
from proreus.server.registry import metadata
from proreus.server.resource import PartialUpdate, Resource
from proreus.server.resource.restore import restore, restore_content, restore_metadata
from proreus.server.resource.rules import (
    DateUpdate,
    Default,
    PrepareUpdate,
    UpdateWarnings,
    ValidateUpdate,
)

_OF_STATUS = frozenset({"kind", "apiVersion", "metadata", "status"})


def _no_warnings(_: JsonObject, __: JsonObject) -> list[str]:
    return []


def _nothing(_: str) -> bool:
    return False


def _no_dates(_: JsonObject, __: JsonObject, ___: float) -> None:
    return None


@dataclass(frozen=True, slots=True, kw_only=True)
class UpdateStrategy:
    """``restores``: whether ``reset`` puts back a part of the object whole."""

    default: Default
    reset: PrepareUpdate
    restores: Callable[[str], bool] = _nothing
    date: DateUpdate = _no_dates
    prepare: PrepareUpdate
    validate: ValidateUpdate
    warnings: UpdateWarnings = _no_warnings
    may_end_deletion: Callable[[JsonObject, JsonObject], bool]


@lru_cache(maxsize=512)  # more than are served, few enough to forget those that are gone
def strategy_for(resource: Resource, subresource: str) -> UpdateStrategy:
    if subresource == "status":
        return _status(resource)
    found = resource.subresource(subresource)
    if found is not None and found.update is not None:
        return _partial(resource, found.update)
    return _main(resource)


def _main(resource: Resource) -> UpdateStrategy:
    has_status = resource.has_status
    rules = resource.rules
    generation = resource.lifecycle.generation
    counts = generation is not None and generation.grows
    on_annotations = generation is not None and generation.on_annotations
    on_labels = generation is not None and generation.on_labels

    def reset(new: JsonObject, old: JsonObject) -> None:
        if has_status:
            restore(new, old, "status")

    def prepare(new: JsonObject, old: JsonObject) -> None:
        rules.prepare_update(new, old)
        if counts and (
            metadata.spec_changed(new, old)
            or (on_annotations and _map_of(new, "annotations") != _map_of(old, "annotations"))
            or (on_labels and _map_of(new, "labels") != _map_of(old, "labels"))
        ):
            new["metadata"]["generation"] = (old["metadata"].get("generation") or 0) + 1

    def warnings(new: JsonObject, old: JsonObject) -> list[str]:
        if rules.warnings_on_update is not None:
            return rules.warnings_on_update(new, old)
        is_same = new["metadata"].get("generation") == old["metadata"].get("generation")
        return [] if rules.warns_of_changes and is_same else rules.warnings(new)

    return UpdateStrategy(
        default=rules.default,
        reset=reset,
        restores=lambda part: has_status and part == "status",
        date=rules.date_update,
        prepare=prepare,
        validate=rules.check_update,
        warnings=warnings,
        may_end_deletion=_ends(resource),
    )


def _status(resource: Resource) -> UpdateStrategy:
    """Only status changes; of most built-in kinds labels, annotations and finalizers too."""

    def reset(new: JsonObject, old: JsonObject) -> None:
        restore_content(new, old, keep=("status",))
        if resource.lifecycle.status_keeps_metadata:
            restore_metadata(new, old)
        if resource.custom:
            new["kind"] = old["kind"]

    return UpdateStrategy(
        default=resource.rules.default_status or resource.rules.default,
        reset=reset,
        restores=lambda part: part not in _OF_STATUS,
        date=resource.rules.date_status,
        prepare=resource.rules.prepare_status,
        validate=resource.rules.validate_status,
        warnings=lambda new, _: resource.rules.warnings_on_status(new),
        may_end_deletion=_ends(resource),
    )


def _partial(resource: Resource, part: PartialUpdate) -> UpdateStrategy:
    """Change what ``part.reset`` leaves."""

    def prepare(new: JsonObject, old: JsonObject) -> None:
        if part.counts and metadata.spec_changed(new, old):
            new["metadata"]["generation"] = (old["metadata"].get("generation") or 0) + 1

    return UpdateStrategy(
        default=resource.rules.default,
        reset=part.reset,
        prepare=prepare,
        validate=part.validate,
        may_end_deletion=_ends(resource),
    )


def _ends(resource: Resource) -> Callable[[JsonObject, JsonObject], bool]:
    is_held = resource.lifecycle.is_held
    return lambda new, old: metadata.goes_with_last_finalizer(new, old) and not is_held(new)


def _map_of(obj: JsonObject, key: str) -> object:
    return obj["metadata"].get(key) or {}
