"""The rules of one kind that are code (Kubernetes: strategy).

Every hook is synchronous and pure but for the object it is given. Objects are decoded JSON dicts
in the storage version, with metadata. ``prepare_*`` runs after decoding and defaulting, before
admission and validation; ``validate_*`` returns every violation and raises only NeedsThread.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from proreus.api import field_error
from proreus.api.field_error import FieldError, TooManyFaults
from proreus.api.json_types import JsonObject
from proreus.server.offload import NeedsThread, Runner
from proreus.server.resource.selectable import dig

Default = Callable[[JsonObject], None]
PrepareCreate = Callable[[JsonObject], None]
PrepareUpdate = Callable[[JsonObject, JsonObject], None]  # new, old
Validate = Callable[[JsonObject], list[FieldError]]
ValidateUpdate = Callable[[JsonObject, JsonObject], list[FieldError]]  # new, old
Warnings = Callable[[JsonObject], list[str]]


async def run_validation(
    validate: Callable[[], list[FieldError]], runner: Runner, large_runner: Runner
) -> list[FieldError]:
    """What a ``validate_*`` finds, in a thread if it takes long, cut off if it is too much."""
    try:
        try:
            return await runner.run(validate)
        except NeedsThread as needed:
            found: list[FieldError] = await (needed.lane or large_runner).run(needed.work)
            return found
    except TooManyFaults as many:
        return many.found


def _nothing(*_: object) -> None:
    return None


def _no_errors(*_: object) -> list[FieldError]:
    return []


def _no_warnings(_: JsonObject) -> list[str]:
    return []


@dataclass(frozen=True, slots=True, kw_only=True)
class Rules:
    """What is particular about a kind. The defaults describe a plain object such as ConfigMap."""

    default: Default = _nothing
    prepare_create: PrepareCreate = _nothing
    prepare_update: PrepareUpdate = _nothing
    prepare_status: PrepareUpdate = _nothing  # what a status write must not change
    validate: Validate = _no_errors
    validate_update: ValidateUpdate | None = None  # None: only what a create must satisfy
    immutable: tuple[str, ...] = ()  # paths of what an update may not change
    validate_status: ValidateUpdate = _no_errors
    warnings: Warnings = _no_warnings
    warnings_on_create: Warnings = _no_warnings  # before the others, and on create only
    warns_of_changes: bool = False  # an update warns only if it raises the generation
    keeps_status: bool = False  # a create may bring its status along (nodes)

    def check_update(self, new: JsonObject, old: JsonObject) -> list[FieldError]:
        found = self.validate_update(new, old) if self.validate_update else self.validate(new)
        for at in self.immutable:
            path = tuple(at.split("."))
            if (now := dig(new, path)) != dig(old, path):
                found.append(field_error.invalid(at, now, "field is immutable"))
        return found


PLAIN = Rules()
