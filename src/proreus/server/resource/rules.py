"""The rules of one kind that are code (Kubernetes: strategy).

Every hook is synchronous and pure but for the object it is given. Objects are decoded JSON dicts
in the storage version, with metadata. ``prepare_*`` runs after decoding and defaulting, before
admission and validation; ``validate_*`` returns every violation, or NeedsThread if finding them
takes long.
"""

from __future__ import annotations

from collections.abc import Callable

from proreus.api import field_error
from proreus.api.field_error import FieldError, TooManyFaults
from proreus.api.json_types import JsonObject
from proreus.lazy_dataclass import dataclass
from proreus.server.offload import NeedsThread, Runner
from proreus.server.resource.selectable import dig

Default = Callable[[JsonObject], None]
PrepareCreate = Callable[[JsonObject], None]
PrepareUpdate = Callable[[JsonObject, JsonObject], None]  # new, old
DateUpdate = Callable[[JsonObject, JsonObject, float], None]  # new, old, the present time
Validated = list[FieldError] | NeedsThread[list[FieldError]]
Validate = Callable[[JsonObject], Validated]
ValidateUpdate = Callable[[JsonObject, JsonObject], Validated]  # new, old
Warnings = Callable[[JsonObject], list[str]]
UpdateWarnings = Callable[[JsonObject, JsonObject], list[str]]


async def run_validation(
    validate: Callable[[], Validated], runner: Runner, large_runner: Runner
) -> list[FieldError]:
    """What a ``validate_*`` finds, in a thread if it takes long, cut off if it is too much."""
    try:
        found = await runner.run(validate)
        if isinstance(found, NeedsThread):
            return await (found.lane or large_runner).run(found.work)
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
    default_status: Default | None = None  # of a status write, which changes nothing else
    prepare_create: PrepareCreate = _nothing
    prepare_update: PrepareUpdate = _nothing
    prepare_status: PrepareUpdate = _nothing  # what a status write must not change
    date_update: DateUpdate = _nothing  # times that the server sets, before it is prepared
    date_status: DateUpdate = _nothing
    kept_by_status: tuple[tuple[str, ...], ...] = ()  # paths of that, which its writers do not own
    validate: Validate = _no_errors
    validate_update: ValidateUpdate | None = None  # None: only what a create must satisfy
    immutable: tuple[str, ...] = ()  # paths of what an update may not change
    validate_status: ValidateUpdate = _no_errors
    warnings: Warnings = _no_warnings
    warnings_as_given: Warnings = _no_warnings  # of a new object, before it is prepared
    warnings_on_create: Warnings = _no_warnings  # before the others, and on create only
    warnings_on_status: Warnings = _no_warnings  # of a write of the status
    warnings_on_update: UpdateWarnings | None = None  # in place of ``warnings``
    warns_of_changes: bool = False  # an update warns only if it raises the generation
    keeps_status: bool = False  # a create may bring its status along (nodes)

    def check_update(self, new: JsonObject, old: JsonObject) -> Validated:
        found = self.validate_update(new, old) if self.validate_update else self.validate(new)
        if not self.immutable:
            return found
        if isinstance(found, NeedsThread):
            work = found.work
            return NeedsThread(lambda: self._with_changed(work(), new, old), found.lane)
        return self._with_changed(found, new, old)

    def _with_changed(
        self, found: list[FieldError], new: JsonObject, old: JsonObject
    ) -> list[FieldError]:
        """And what the update changes although it is immutable."""
        for at in self.immutable:
            path = tuple(at.split("."))
            if (now := dig(new, path)) != dig(old, path):
                found.append(field_error.invalid(at, now, "field is immutable"))
        return found


PLAIN = Rules()
