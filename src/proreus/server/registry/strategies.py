"""Which strategy an update through an endpoint follows; those of single kinds are written here."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache

from proreus.server.registry import metadata
from proreus.server.registry.resource import Resource
from proreus.server.registry.strategy import (
    UpdateStrategy,
    keep_metadata,
    main_strategy,
    restore,
    restore_content,
    status_strategy,
)
from proreus.server.schema.kinds import certificates, namespaces, pod_parts
from proreus.server.schema.rules import JsonObject, ValidateUpdate

Reset = Callable[[JsonObject, JsonObject], None]  # new, old


@lru_cache(maxsize=512)  # more than are served, few enough to forget those that are gone
def strategy_for(resource: Resource, subresource: str) -> UpdateStrategy:
    match subresource:
        case "":
            return main_strategy(resource)
        case "status":
            return status_strategy(resource)
        case "finalize":
            return _only(resource, _finalize, namespaces.finalize_update)
        case "approval":
            return _only(resource, _approval, certificates.approval_update)
        case "ephemeralcontainers":
            return _pod_part(resource, _ephemeral_containers, pod_parts.ephemeral_update)
        case "resize":
            return _pod_part(resource, _resize, pod_parts.resize)
        case _:
            return main_strategy(resource)


def _only(resource: Resource, reset: Reset, validate: ValidateUpdate) -> UpdateStrategy:
    """Change what ``reset`` leaves."""
    main = main_strategy(resource)
    return UpdateStrategy(
        reset=reset,
        prepare=lambda new, old: None,
        validate=validate,
        may_end_deletion=main.may_end_deletion,
    )


def _pod_part(resource: Resource, reset: Reset, validate: ValidateUpdate) -> UpdateStrategy:
    main = main_strategy(resource)

    def prepare(new: JsonObject, old: JsonObject) -> None:
        if metadata.spec_changed(new, old):
            metadata.of(new)["generation"] = (old["metadata"].get("generation") or 0) + 1

    return UpdateStrategy(
        reset=reset,
        prepare=prepare,
        validate=validate,
        may_end_deletion=main.may_end_deletion,
    )


def _finalize(new: JsonObject, old: JsonObject) -> None:
    """Of a namespace only its spec's finalizers, and its metadata."""
    finalizers = (new.get("spec") or {}).get("finalizers")
    restore_content(new, old, keep=("spec",))
    new["spec"] = {**(old.get("spec") or {})}
    if finalizers:
        new["spec"]["finalizers"] = finalizers
    else:
        new["spec"].pop("finalizers", None)


def _approval(new: JsonObject, old: JsonObject) -> None:
    """Of a signing request only the conditions that approve or deny it."""
    conditions = (new.get("status") or {}).get("conditions")
    restore_content(new, old, keep=("status",))
    new["status"] = {**(old.get("status") or {})}
    if conditions:
        new["status"]["conditions"] = conditions
    else:
        new["status"].pop("conditions", None)


def _ephemeral_containers(new: JsonObject, old: JsonObject) -> None:
    keep_metadata(new, old)
    wanted = new.get("spec") or {}
    restore_content(new, old, keep=())
    new["spec"] = {**(old.get("spec") or {})}
    restore(new["spec"], wanted, "ephemeralContainers")


def _resize(new: JsonObject, old: JsonObject) -> None:
    """Only the resources of containers that are there."""
    keep_metadata(new, old)
    wanted = new.get("spec") or {}
    restore_content(new, old, keep=())
    new["spec"] = {**(old.get("spec") or {})}
    for field in ("containers", "initContainers"):
        by_name = {c.get("name"): c for c in wanted.get(field) or ()}
        if field in new["spec"]:
            new["spec"][field] = [
                _resized(container, by_name.get(container.get("name")))
                for container in new["spec"][field]
            ]


def _resized(container: JsonObject, wanted: JsonObject | None) -> JsonObject:
    if wanted is None:
        return container
    changed = {**container}
    for field in ("resources", "resizePolicy"):
        restore(changed, wanted, field)
    return changed
